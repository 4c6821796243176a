// Any bytes as the text of a network: a graph that its own text gives again and that can be
// printed, or a Status.

#include <cstdlib>
#include <string>
#include <string_view>

#include "models/graph/network.h"
#include "models/graph/table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph =
      dtnn::ParseNetwork(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.ok()) {
    if (graph.status().message().empty()) std::abort();
    return 0;
  }
  const std::string text = dtnn::NetworkText(*graph);
  const auto again = dtnn::ParseNetwork(text);
  if (!again.ok() || dtnn::NetworkText(*again) != text) std::abort();
  for (const dtnn::DType dtype : {dtnn::DType::kFloat32, dtnn::DType::kFloat64}) {
    if (dtnn::FormatTable(*graph, dtype, dtnn::Device::Cpu()).empty()) std::abort();
  }
  if (graph->num_trainable_parameters() > graph->num_parameters()) std::abort();
  return 0;
}
