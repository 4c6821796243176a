// Any bytes as a weights file, of either kind, for a small network in either format: it is loaded
// as a whole, or there is a Status and nothing has changed.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "models/graph/builder.h"
#include "models/parameters/weights.h"

namespace {

dtnn::Graph Net(dtnn::TensorFormat format) {
  dtnn::GraphBuilder b("net", format);
  b.Input({2, 3, 2}).Conv2d(3, {.kernel = 2}).BatchNorm().Flatten().BatchNorm().Fc(2);
  return *b.Build();
}

void TryToLoad(std::span<const std::byte> bytes, const dtnn::Graph& graph, bool partial) {
  static auto* device = dtnn::DeviceContext::Create(dtnn::Device::Cpu())->release();
  const auto store = *dtnn::ParameterStore::Create(graph, *device, dtnn::DType::kFloat32, 1);
  const dtnn::Tensor values = store->all_values();
  const size_t size = size_t(values.num_elements()) * sizeof(float);
  const std::vector<std::byte> before(values.raw_data(), values.raw_data() + size);
  const bool zip = bytes.size() > 1 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'};
  auto file = dtnn::ArrayFileReader::Parse(bytes, zip ? "input.npz" : "input.safetensors");
  if (!file.ok()) return;
  const auto staged =
      dtnn::StagedWeights::Read(*file, graph, *store, *device, {.partial = partial});
  if (std::memcmp(values.raw_data(), before.data(), size) != 0) std::abort();
  if (!staged.ok()) {
    if (staged.status().message().substr(0, 6) != "input.") std::abort();  // it names the file
    return;
  }
  if (!staged->Apply(*store, *device).ok() || store->version() == 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dtnn::Graph* const nhwc = new dtnn::Graph(Net(dtnn::TensorFormat::kNHWC));
  static const dtnn::Graph* const nchw = new dtnn::Graph(Net(dtnn::TensorFormat::kNCHW));
  const auto bytes = std::as_bytes(std::span(data, size));
  TryToLoad(bytes, *nhwc, /*partial=*/false);
  TryToLoad(bytes, *nchw, /*partial=*/true);
  return 0;
}
