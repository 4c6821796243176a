// Lines of a name and extents, "conv1.weight 4 3 3 3", as the arrays of a file for small networks:
// parameters take values of these arrays or become zeros, or there is a Status and nothing has
// changed.

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "models/graph/builder.h"
#include "models/torch/torch_weights.h"

namespace {

using namespace dtnn;

constexpr size_t kMostArrays = 32;
constexpr int64_t kMostExtent = 64, kMostElements = 4096;
constexpr float kFirst = 1000;  // initial values are smaller

// All elements of all arrays differ, from kFirst on.
NamedTensors ArraysIn(const std::string& text) {
  NamedTensors arrays;
  float next = kFirst;
  std::istringstream lines(text);
  for (std::string line, name; std::getline(lines, line) && arrays.size() < kMostArrays;) {
    std::istringstream words(line);
    if (!(words >> name)) continue;
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (int64_t extent = 0; words >> extent;) {
      if (extent < 1 || extent > kMostExtent || count * extent > kMostElements) return arrays;
      extents.push_back(extent);
      count *= extent;
    }
    const auto shape = Shape::Make(extents);
    if (!shape.ok()) return arrays;
    const Tensor array = *Tensor::Allocate(Device::Cpu(), DType::kFloat32, *shape);
    std::iota(array.data<float>(), array.data<float>() + count, next);
    next += float(count);
    arrays.emplace_back(name, array);
  }
  return arrays;
}

std::vector<Graph> Networks() {
  GraphBuilder one("one", TensorFormat::kNCHW), all("all", TensorFormat::kNCHW);
  one.Input({4, 4, 4}).Conv2d(4, {.kernel = 3, .bias = false});
  all.Input({4, 4, 3}).Conv2d(4, {.kernel = 2}).BatchNorm().PRelu();
  all.Conv2d(0, {.kernel = 1, .bias = false, .grouping = ConvGrouping::kDepthwise});
  all.Conv2d(5, {.grouping = ConvGrouping::kPointwise}).GroupNorm();
  all.TransposedConv2d(2, {.kernel = 2}).Flatten().Fc(3);
  std::vector<Graph> networks;
  networks.push_back(*one.Build());
  networks.push_back(*all.Build());
  return networks;
}

void TryToFill(const NamedTensors& arrays, const Graph& graph, const TorchWeightsOptions& options) {
  static auto* device = DeviceContext::Create(Device::Cpu())->release();
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  const Tensor values = store->all_values();
  const float* const now = values.data<float>();
  const std::vector<float> before(now, now + values.num_elements());
  int64_t elements = 0;
  for (const auto& [name, array] : arrays) elements += array.num_elements();
  const bool filled = FillFromTorch(arrays, graph, *store, options).ok();
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::memcmp(&now[i], &before[i], sizeof(float)) == 0) continue;
    const bool known = now[i] == 0 || (now[i] >= kFirst && now[i] < kFirst + float(elements));
    if (!filled || !known) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const networks = new std::vector<Graph>(Networks());
  const NamedTensors arrays = ArraysIn(std::string(data, data + size));
  for (const bool by_names : {false, true}) {
    const int64_t outputs = OutputsOf(arrays, by_names);
    if (outputs < 0 || outputs > kMostExtent) std::abort();
    for (const Graph& graph : *networks) {
      for (const bool partial : {false, true}) {
        TryToFill(arrays, graph, {.partial = partial, .by_names = by_names});
      }
    }
  }
  return 0;
}
