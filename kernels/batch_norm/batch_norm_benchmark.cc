// Bytes per second of batch normalisation with its relu, counting what must move: forward reads x
// twice and writes y, backward reads x and dy twice and writes dx, inference reads x and writes y.
// With a sum before the relu ("Sum"), forward reads the addend too, backward reads y and writes dy.
// Beside them a plain copy of a tensor of the same size: what the machine could do. `of_copy` is
// the share of the bandwidth of a large copy by the same threads.
//
// The layers of resnet20 on CIFAR-10, which stay in cache, larger ones, and some of
// densenet_cifar10, whose x and dx are the last channels of those of their dense block ("of96").

#include <algorithm>
#include <cstring>
#include <string>

#include "benchmark/benchmark.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/elementwise/operands.h"
#include "kernels/peak/peak.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

enum class Run { kCopy, kForward, kBackward, kInfer, kForwardSum, kBackwardSum };

struct Setting {
  int64_t n, extent, channels;
  int64_t of = channels;  // the channels of the tensor that x and dx are a part of
  int64_t elements() const { return n * extent * extent * channels; }
};

Tensor Make(const Shape& shape, float step) {
  Tensor tensor = *Tensor::Allocate(Device::Cpu(), DType::kFloat32, shape);
  float* values = tensor.data<float>();
  ParallelFor(0, tensor.num_elements(), kCopyGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = float(i % 37) * step - 1;
  });
  return tensor;
}

void Measure(benchmark::State& state, const Setting& s, TensorFormat format, Run run) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  const bool sum = run == Run::kForwardSum || run == Run::kBackwardSum;
  const auto norm = *CreateBatchNorm(*context, {.batch = s.n,
                                                .positions = s.extent * s.extent,
                                                .channels = s.channels,
                                                .format = format,
                                                .add = sum,
                                                .relu = true});
  const auto shape = [&](int64_t channels) {
    return format == TensorFormat::kNHWC ? Shape{s.n, s.extent, s.extent, channels}
                                         : Shape{s.n, channels, s.extent, s.extent};
  };
  const auto part = [&](float step) {
    return Make(shape(s.of), step).Channels(s.of - s.channels, s.channels, format);
  };
  const Shape per_channel = {s.channels};
  const Tensor x = part(0.05f), dx = part(0), dy = Make(shape(s.channels), 0.1f);
  const Tensor y = Make(shape(s.channels), 0);
  const Tensor addend = sum ? Make(shape(s.channels), 0.2f) : Tensor();
  const BatchStatistics statistics = {*Tensor::Zeros(DType::kFloat64, per_channel),
                                      *Tensor::Zeros(DType::kFloat64, per_channel)};
  const BatchNormParameters parameters = {{Make(per_channel, 1), 1}, {Make(per_channel, 1), 1}};
  const RunningStatistics running = {{Make(per_channel, 1), 1}, {Make(per_channel, 1), 1}};
  const BatchNormGradients gradients = {Make(per_channel, 0), Make(per_channel, 0)};
  const Tensor memory = Make({int64_t(norm->workspace_bytes() / sizeof(float)) + 1}, 0);
  const Workspace workspace(memory.raw_data(), norm->workspace_bytes());
  absl::Status status = norm->Statistics(x, statistics, workspace);
  for (auto _ : state) {
    if (run == Run::kCopy) {
      ParallelFor(0, s.elements(), kCopyGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(y.data<float>() + begin, dy.data<float>() + begin,
                    size_t(end - begin) * sizeof(float));
      });
    } else if (run == Run::kForward || run == Run::kForwardSum) {
      status.Update(norm->Statistics(x, statistics, workspace));
      status.Update(norm->Apply(x, statistics, parameters, addend, y, workspace));
    } else if (run == Run::kBackward || run == Run::kBackwardSum) {
      status.Update(
          norm->Gradients(x, sum ? y : Tensor(), dy, statistics, parameters, gradients, workspace));
      status.Update(norm->BackwardData(x, dy, statistics, parameters, gradients,
                                       s.elements() / s.channels, dx, false, workspace));
    } else {
      status.Update(norm->Infer(x, parameters, running, addend, y, workspace));
    }
    benchmark::ClobberMemory();
  }
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  constexpr int64_t kMoved[] = {2, 3, 5, 2, 4, 7};
  const int64_t moved = kMoved[int(run)];
  static const double copy = MeasureCopyBandwidth(NumThreads()) * 1e9;
  const int64_t bytes = state.iterations() * s.elements() * int64_t(sizeof(float)) * moved;
  state.SetBytesProcessed(bytes);
  state.counters["of_copy"] = benchmark::Counter(double(bytes) / copy, benchmark::Counter::kIsRate);
}

const bool registered = [] {
  constexpr Setting kSettings[] = {{64, 32, 16},       {64, 16, 32},     {64, 8, 64},
                                   {64, 7, 512},       {64, 56, 64},     {32, 14, 2048},
                                   {64, 1, 1024},      {64, 32, 60, 96}, {64, 32, 48},
                                   {64, 16, 120, 192}, {64, 8, 252, 384}};
  for (const Setting& s : kSettings) {
    for (const auto& [run, name] :
         {std::pair(Run::kCopy, "Copy"), std::pair(Run::kForward, "Forward"),
          std::pair(Run::kBackward, "Backward"), std::pair(Run::kInfer, "Infer"),
          std::pair(Run::kForwardSum, "ForwardSum"), std::pair(Run::kBackwardSum, "BackwardSum")}) {
      for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        if (format == TensorFormat::kNCHW && (run == Run::kCopy || s.extent == 1)) continue;
        const std::string title =
            StrCat("BM_BatchNorm", name, "/n", s.n, "h", s.extent, "w", s.extent, "c", s.channels,
                   s.of == s.channels ? "" : StrCat("of", s.of), run == Run::kCopy ? "" : "_",
                   run == Run::kCopy ? "" : std::string(Name(format)));
        benchmark::RegisterBenchmark(title.c_str(), [=, run = run](benchmark::State& state) {
          Measure(state, s, format, run);
        })->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
