// Bytes per second of softmax over channels, as networks that classify pixels end in it: few
// classes, as in medicine, 21 of PASCAL VOC, 150 of ADE20K, in both formats; and of small images
// with many channels, as in attention. The floor is the memory's bandwidth: forward reads and
// writes an image, backward reads two and writes one.

#include "benchmark/benchmark.h"
#include "kernels/channel_softmax/channel_softmax.h"

namespace dtnn {
namespace {

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"classes", "planes", "side"})->UseRealTime();
  benchmark->ArgsProduct({{3, 21, 150}, {0, 1}, {256}});
  benchmark->Args({1000, 1, 1})->Args({1000, 1, 7})->Args({4096, 1, 8});
}

struct Case {
  explicit Case(const benchmark::State& state)
      : spec({.channels = state.range(0),
              .format = state.range(1) == 0 ? TensorFormat::kNHWC : TensorFormat::kNCHW}),
        side(state.range(2)),
        x(Image()),
        y(Image()) {}
  Tensor Image() const {
    return *Tensor::Zeros(DType::kFloat32,
                          SampleShape({side, side, spec.channels}, spec.format).Prepend(1));
  }

  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const ChannelSoftmaxSpec spec;
  const int64_t side;
  const Tensor x, y;
};

void Report(const Case& of, int images, benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * of.x.num_elements() * int64_t(sizeof(float)) *
                          images);
}

void BM_ChannelSoftmaxForward(benchmark::State& state) {
  const Case of(state);
  const auto softmax = *CreateChannelSoftmax(*of.context, of.spec);
  for (auto _ : state) {
    if (!softmax->Forward(of.x, of.y).ok()) state.SkipWithError("failed");
  }
  Report(of, 2, state);
}
BENCHMARK(BM_ChannelSoftmaxForward)->Apply(Shapes);

void BM_ChannelSoftmaxBackward(benchmark::State& state) {
  const Case of(state);
  const Tensor dx = of.Image();
  const auto softmax = *CreateChannelSoftmax(*of.context, of.spec);
  for (auto _ : state) {
    if (!softmax->Backward(of.y, of.x, dx, /*accumulate=*/false).ok()) {
      state.SkipWithError("failed");
    }
  }
  Report(of, 3, state);
}
BENCHMARK(BM_ChannelSoftmaxBackward)->Apply(Shapes);

}  // namespace
}  // namespace dtnn
