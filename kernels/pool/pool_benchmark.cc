// Bytes per second of pooling (inputs and outputs, and argmax where there are any) in layers of
// the zoo's networks; `of_copy` is the share of the bandwidth of a large copy by the same threads.

#include <string>

#include "benchmark/benchmark.h"
#include "kernels/peak/peak.h"
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
  const Tensor argmax = max ? *Tensor::Zeros(spec.ArgmaxDType(), spec.OutputShape()) : Tensor();
  // The backward pass needs argmax that a forward pass left.
  if (!pool->Forward(x, y, argmax).ok()) state.SkipWithError("failed");
  for (auto _ : state) {
    const absl::Status status =
        backward ? pool->Backward(y, argmax, x, false) : pool->Forward(x, y, argmax);
    if (!status.ok()) state.SkipWithError("failed");
  }
  static const double copy = MeasureCopyBandwidth(NumThreads()) * 1e9;
  const int64_t bytes = state.iterations() *
                        ((x.num_elements() + y.num_elements()) * 4 + (max ? y.num_elements() : 0));
  state.SetBytesProcessed(bytes);
  state.counters["of_copy"] = benchmark::Counter(double(bytes) / copy, benchmark::Counter::kIsRate);
}

PoolSpec Spec(PoolKind kind, const Shape& nhwc, Pair window, Pair stride, Pair padding = 0) {
  return {.kind = kind,
          .batch = nhwc[0],
          .height = nhwc[1],
          .width = nhwc[2],
          .channels = nhwc[3],
          .window = window,
          .stride = stride,
          .padding = padding};
}

const bool registered = [] {
  constexpr PoolKind kMax = PoolKind::kMax, kMean = PoolKind::kAverage;
  const PoolSpec specs[] = {
      Spec(kMax, {64, 28, 28, 8}, 2, 2),        // simplecnn8
      Spec(kMax, {64, 32, 32, 64}, 2, 2),       // vgg16_cifar10, the first and the last but one
      Spec(kMax, {64, 4, 4, 512}, 2, 2),        //
      Spec(kMax, {16, 112, 112, 64}, 3, 2, 1),  // resnet50_imagenet
      Spec(kMax, {16, 27, 27, 256}, 3, 2),      // alexnet
      Spec(kMax, {16, 32, 32, 192}, 3, 1, 1),   // googlenet_cifar10
      Spec(kMax, {64, 8, 8, 832}, 3, 1, 1),     //
      Spec(kMean, {64, 16, 16, 128}, 2, 2),     // densenet_cifar10
      Spec(kMean, {16, 35, 35, 192}, 3, 1, 1),  // inceptionv3
      Spec(kMean, {64, 7, 7, 2048}, 7, 1),      // resnet50_imagenet, the last
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
