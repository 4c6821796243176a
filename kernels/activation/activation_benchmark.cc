// Bytes per second of the activations, on the maps of a small network (64 x 28 x 28 x 8, which stay
// in cache) and on tensors larger than any cache; `of_copy` is the share of the bandwidth of a
// large copy by the same threads.

#include <string>

#include "benchmark/benchmark.h"
#include "kernels/activation/activation.h"
#include "kernels/peak/peak.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

void Run(benchmark::State& state, ActivationKind kind, bool backward, int64_t n) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const auto activation = *CreateActivation(*context, {.kind = kind});
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {n}), y = *Tensor::Zeros(DType::kFloat32, {n});
  const Tensor dx = *Tensor::Zeros(DType::kFloat32, {n});
  for (auto _ : state) {
    const absl::Status status =
        backward ? activation->Backward(y, x, dx, false) : activation->Forward(x, y);
    if (!status.ok()) state.SkipWithError("failed");
  }
  static const double copy = MeasureCopyBandwidth(NumThreads()) * 1e9;
  const int64_t bytes = state.iterations() * n * int64_t(sizeof(float)) * (backward ? 3 : 2);
  state.SetBytesProcessed(bytes);
  state.counters["of_copy"] = benchmark::Counter(double(bytes) / copy, benchmark::Counter::kIsRate);
}

const bool registered = [] {
  for (const auto kind : kActivationKinds) {
    for (const bool backward : {false, true}) {
      for (const int64_t n : {64 * 28 * 28 * 8, 1 << 24}) {
        const std::string name =
            StrCat("BM_Activation", backward ? "Backward/" : "Forward/", Name(kind), "/n", n);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          Run(state, kind, backward, n);
        })->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
