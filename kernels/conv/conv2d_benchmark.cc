// BM_Conv2d<Direction>/<variant>/<spec>: every convolution of simplecnn8 and vgg16_cifar10, and the
// depthwise ones of mobilenetv1_cifar10, batch 64. GFLOP/s count the flops of the definition,
// including those of taps in the padding.

#include <algorithm>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/conv/conv2d.h"

namespace dtnn {
namespace {

using conv::Direction;

Tensor Ones(DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::Zeros(dtype, shape);
  std::fill_n(tensor.data<float>(), tensor.num_elements(), 1.0f);
  return tensor;
}

void Run(benchmark::State& state, Conv2dSpec spec, std::string_view variant, Direction direction) {
  if (direction == Direction::kForward) spec.epilogue = {.bias = true, .relu = true};
  auto context = *DeviceContext::Create(Device::Cpu());
  Conv2dVariants variants;
  variants[direction] = variant;
  auto conv = CreateConv2d(*context, spec, variants);
  if (!conv.ok()) {
    state.SkipWithError(std::string(conv.status().message()).c_str());
    return;
  }
  const Tensor x = Ones(spec.dtype, spec.InputShape()), y = Ones(spec.dtype, spec.OutputShape());
  const Tensor w = Ones(spec.dtype, spec.FilterShape()), bias = Ones(spec.dtype, {spec.filters});
  auto buffer = *Buffer::Allocate(Device::Cpu(), (*conv)->workspace_bytes());
  const Workspace workspace(buffer->data(), buffer->size());
  uint64_t version = 0;
  for (auto _ : state) {
    ++version;  // as in training: the filter is new in every step
    absl::Status status;
    if (direction == Direction::kForward) {
      status = (*conv)->Forward(x, {w, version}, y, {.bias = bias, .scale = {}, .addend = {}},
                                workspace);
    } else if (direction == Direction::kBackwardData) {
      status = (*conv)->BackwardData(y, {w, version}, x, false, workspace);
    } else {
      status = (*conv)->BackwardFilter(x, y, w, bias, false, workspace);
    }
    if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  }
  state.counters["GFLOP/s"] = benchmark::Counter(spec.Flops() * 1e-9 * double(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

std::vector<Conv2dSpec> Specs() {
  struct Layer {
    int64_t extent, channels, filters, groups = 1, stride = 1;
  };
  std::vector<Conv2dSpec> specs;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const Layer& layer : std::initializer_list<Layer>{{28, 1, 4},
                                                           {28, 4, 8},
                                                           {32, 3, 64},
                                                           {32, 64, 64},
                                                           {16, 64, 128},
                                                           {16, 128, 128},
                                                           {8, 128, 256},
                                                           {8, 256, 256},
                                                           {4, 256, 512},
                                                           {4, 512, 512},
                                                           {2, 512, 512},
                                                           {16, 32, 32, 32},
                                                           {16, 64, 64, 64, 2},
                                                           {8, 128, 128, 128},
                                                           {8, 128, 128, 128, 2},
                                                           {4, 256, 256, 256},
                                                           {4, 256, 256, 256, 2},
                                                           {2, 512, 512, 512},
                                                           {2, 512, 512, 512, 2},
                                                           {1, 1024, 1024, 1024}}) {
      Conv2dSpec spec;
      spec.batch = 64;
      spec.height = spec.width = layer.extent;
      spec.channels = layer.channels;
      spec.filters = layer.filters;
      spec.groups = layer.groups;
      spec.stride = layer.stride;
      spec.padding = 1;
      spec.format = format;
      specs.push_back(spec);
    }
  }
  return specs;
}

const bool registered = [] {
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (const Conv2dSpec& spec : Specs()) {
      for (const auto& [name, direction] :
           {std::pair("Forward", Direction::kForward),
            std::pair("BackwardData", Direction::kBackwardData),
            std::pair("BackwardFilter", Direction::kBackwardFilter)}) {
        // No network asks for the gradient of its input.
        if (direction == Direction::kBackwardData && spec.channels <= 3) continue;
        // The others run once for each channel.
        if (spec.groups > 1 && variant != "depthwise") continue;
        if (!Conv2dRefusal(variant, spec, direction).empty()) continue;
        const std::string label =
            std::string("BM_Conv2d") + name + "/" + std::string(variant) + "/" + spec.ToString();
        benchmark::RegisterBenchmark(label.c_str(), Run, spec, variant, direction)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
