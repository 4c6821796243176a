// Bytes per second of pooling (inputs and outputs, and winners where there are any), for the 2x2
// windows of small networks and VGG, the 3x3 ones of ResNet and GoogLeNet, and a global mean;
// `of_copy` is the share of the bandwidth of a large copy by the same threads.

#include <string>

#include "bench/peak.h"
#include "benchmark/benchmark.h"
#include "kernels/pool/pool.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, const PoolSpec& spec, bool backward) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto pool = *CreatePool(*context, spec);
  const Tensor x = *Tensor::Zeros(spec.dtype, spec.InputShape());
  const Tensor y = *Tensor::Zeros(spec.dtype, spec.OutputShape());
  const bool max = spec.kind == PoolKind::kMax;
  const Tensor winners = max ? *Tensor::Zeros(spec.WinnerDType(), spec.OutputShape()) : Tensor();
  // The backward pass needs winners that a forward pass left.
  if (!pool->Forward(x, y, winners).ok()) state.SkipWithError("failed");
  for (auto _ : state) {
    const absl::Status status =
        backward ? pool->Backward(y, winners, x, false) : pool->Forward(x, y, winners);
    if (!status.ok()) state.SkipWithError("failed");
  }
  static const double copy = MeasureCopyBandwidth(NumThreads()) * 1e9;
  const int64_t bytes = state.iterations() *
                        ((x.num_elements() + y.num_elements()) * 4 + (max ? y.num_elements() : 0));
  state.SetBytesProcessed(bytes);
  state.counters["of_copy"] = benchmark::Counter(double(bytes) / copy, benchmark::Counter::kIsRate);
}

const bool registered = [] {
  const PoolSpec specs[] = {
      {.batch = 64, .height = 28, .width = 28, .channels = 8, .window = 2, .stride = 2},
      {.batch = 64, .height = 14, .width = 14, .channels = 16, .window = 2, .stride = 2},
      {.batch = 64, .height = 32, .width = 32, .channels = 64, .window = 2, .stride = 2},
      {.batch = 16,
       .height = 56,
       .width = 56,
       .channels = 64,
       .window = 3,
       .stride = 2,
       .padding = 1},
      {.batch = 64,
       .height = 8,
       .width = 8,
       .channels = 256,
       .window = 3,
       .stride = 1,
       .padding = 1},
      {.kind = PoolKind::kAverage,
       .batch = 64,
       .height = 32,
       .width = 32,
       .channels = 64,
       .window = 2,
       .stride = 2},
      {.kind = PoolKind::kAverage,
       .batch = 64,
       .height = 8,
       .width = 8,
       .channels = 256,
       .window = 3,
       .stride = 1,
       .padding = 1},
      {.kind = PoolKind::kAverage,
       .batch = 64,
       .height = 8,
       .width = 8,
       .channels = 64,
       .window = 8,
       .stride = 1},
  };
  for (PoolSpec spec : specs) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      spec.format = format;
      for (const bool backward : {false, true}) {
        const std::string name =
            std::string(backward ? "BM_PoolBackward/" : "BM_PoolForward/") + spec.ToString();
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          Run(state, spec, backward);
        })->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
