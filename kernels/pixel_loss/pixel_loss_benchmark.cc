// Bytes per second of softmax and cross entropy of pixels, as training with
// categorical_cross_entropy runs them: few classes, 21 of PASCAL VOC, 150 of ADE20K, in both
// formats. The floor is the memory's bandwidth: logits are read, probabilities and gradients
// written.

#include "benchmark/benchmark.h"
#include "kernels/pixel_loss/pixel_loss.h"

namespace dtnn {
namespace {

void BM_PixelLoss(benchmark::State& state) {
  constexpr int64_t kSide = 256;
  const auto context = *DeviceContext::Create(Device::Cpu());
  const PixelLossSpec spec = {
      .images = 1,
      .image = {kSide, kSide, state.range(0)},
      .format = state.range(1) == 0 ? TensorFormat::kNHWC : TensorFormat::kNCHW,
      .from_logits = true};
  const auto image = [&] {
    return *Tensor::Zeros(DType::kFloat32, SampleShape(spec.image, spec.format).Prepend(1));
  };
  const Tensor x = image(), probabilities = image(), dx = image();
  const Tensor labels = *Tensor::Zeros(DType::kInt32, {1, kSide, kSide});
  const Tensor losses = *Tensor::Zeros(DType::kFloat32, {1});
  const auto loss = *CreatePixelLoss(*context, spec);
  for (auto _ : state) {
    if (!loss->Run(x, labels, probabilities, losses, dx, 1.0).ok()) state.SkipWithError("failed");
  }
  state.SetBytesProcessed(state.iterations() * x.num_elements() * int64_t(sizeof(float)) * 3);
}
BENCHMARK(BM_PixelLoss)
    ->ArgNames({"classes", "planes"})
    ->ArgsProduct({{3, 21, 150}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace dtnn
