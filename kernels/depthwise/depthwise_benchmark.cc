// BM_Depthwise<Direction>/<spec>: the depthwise convolutions of mobilenetv1_cifar10, and two of its
// larger relatives', which do not fit the cache. Counters: GFLOP/s; GB/s of x and y (and dx, dy)
// moved once; and `floor`, the share of the speed at which memory, or the FMA units where those are
// slower, would allow. The smaller shapes stay in cache and may exceed it.

#include <algorithm>
#include <string>

#include "bench/peak.h"
#include "benchmark/benchmark.h"
#include "kernels/depthwise/depthwise.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

enum class Direction { kForward, kBackwardData, kBackwardFilter };

Tensor Ones(DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::Zeros(dtype, shape);
  std::fill_n(tensor.data<float>(), tensor.num_elements(), 1.0f);
  return tensor;
}

void Run(benchmark::State& state, Conv2dSpec spec, Direction direction) {
  static const double peak = MeasureFmaPeakGflops(NumThreads(), DType::kFloat32) * 1e9;
  static const double bandwidth = MeasureCopyBandwidth(NumThreads()) * 1e9;
  if (direction == Direction::kForward) spec.epilogue = {.bias = true, .relu = true};
  auto context = *DeviceContext::Create(Device::Cpu());
  const auto conv = *CreateDepthwise(*context, spec);
  const Tensor x = Ones(spec.dtype, spec.InputShape()), y = Ones(spec.dtype, spec.OutputShape());
  const Tensor w = Ones(spec.dtype, DepthwiseFilterShape(spec));
  const Tensor bias = Ones(spec.dtype, {spec.channels});
  auto buffer = *Buffer::Allocate(Device::Cpu(), std::max<size_t>(1, conv->workspace_bytes()));
  const Workspace workspace(buffer->data(), conv->workspace_bytes());
  uint64_t version = 0;
  for (auto _ : state) {
    ++version;  // as in training: the filter is new in every step
    absl::Status status;
    if (direction == Direction::kForward) {
      status =
          conv->Forward(x, {w, version}, y, {.bias = bias, .scale = {}, .addend = {}}, workspace);
    } else if (direction == Direction::kBackwardData) {
      status = conv->BackwardData(y, {w, version}, x, false, workspace);
    } else {
      status = conv->BackwardFilter(x, y, w, bias, false, workspace);
    }
    if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  }
  const double bytes = double(x.num_elements() + y.num_elements()) * sizeof(float);
  const double floor = std::max(bytes / bandwidth, spec.Flops() / peak);
  const auto rate = [&](double amount) {
    return benchmark::Counter(amount * double(state.iterations()), benchmark::Counter::kIsRate);
  };
  state.counters["GFLOP/s"] = rate(spec.Flops() * 1e-9);
  state.counters["GB/s"] = rate(bytes * 1e-9);
  state.counters["floor"] = rate(floor);
}

const bool registered = [] {
  struct Layer {
    int64_t batch, extent, channels, stride;
  };
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const Layer& layer : std::initializer_list<Layer>{{64, 16, 32, 1},
                                                           {64, 16, 64, 2},
                                                           {64, 8, 128, 1},
                                                           {64, 8, 128, 2},
                                                           {64, 4, 256, 1},
                                                           {64, 4, 256, 2},
                                                           {64, 2, 512, 1},
                                                           {64, 2, 512, 2},
                                                           {64, 1, 1024, 1},
                                                           {16, 112, 32, 1},
                                                           {16, 112, 64, 2}}) {
      Conv2dSpec spec;
      spec.batch = layer.batch;
      spec.height = spec.width = layer.extent;
      spec.channels = spec.filters = spec.groups = layer.channels;
      spec.stride = layer.stride;
      spec.padding = 1;
      spec.format = format;
      for (const auto& [name, direction] :
           {std::pair("Forward", Direction::kForward),
            std::pair("BackwardData", Direction::kBackwardData),
            std::pair("BackwardFilter", Direction::kBackwardFilter)}) {
        const std::string label = std::string("BM_Depthwise") + name + "/" + spec.ToString();
        benchmark::RegisterBenchmark(label.c_str(), Run, spec, direction)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
