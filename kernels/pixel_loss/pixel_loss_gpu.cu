#include <algorithm>
#include <utility>

#include "kernels/gpu/runner.h"
#include "kernels/pixel_loss/bodies.h"
#include "kernels/pixel_loss/pixel_loss_gpu.h"
#include "kernels/transfers/transfers.h"
#include "tensor/status_macros.h"

namespace dtnn {

// A row per image: its share.
struct LabelledShareBody {
  int64_t pixels;
  const int32_t* labels;
  double* shares;

  void Declare(int64_t images, gpu::Accesses& accesses) {
    accesses.Reads(labels, images * pixels);
    accesses.Writes(shares, images);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t image, Group group) const {
    double labelled = 0;
    for (int64_t j = group.lane(); j < pixels; j += group.size()) {
      labelled += labels[image * pixels + j] >= 0;
    }
    labelled = group.Sum(labelled);
    if (group.lane() == 0) shares[image] = labelled == 0 ? 0 : 1 / labelled;
  }
};

// A row per image: its loss. W: the type of losses.
template <typename W>
struct ImageLossBody {
  int64_t pixels;
  const double* of_pixels;
  const double* shares;
  W* losses;

  void Declare(int64_t images, gpu::Accesses& accesses) {
    accesses.Reads(of_pixels, images * pixels);
    accesses.Reads(shares, images);
    accesses.Writes(losses, images);
  }
  template <class Group>
  DTNN_HOST_DEVICE void operator()(int64_t image, Group group) const {
    double sum = 0;
    for (int64_t j = group.lane(); j < pixels; j += group.size()) {
      sum += of_pixels[image * pixels + j];
    }
    sum = group.Sum(sum);
    if (group.lane() == 0) losses[image] = W(sum * shares[image]);
  }
};

class PixelLossGpu : public PixelLoss {
 public:
  PixelLossGpu(const GpuRunner& runner, const PixelLossSpec& spec, PixelLossScratch scratch)
      : runner_(runner), spec_(spec), scratch_(std::move(scratch)) {}

  absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    DTNN_RETURN_IF_ERROR(
        CheckPixelLoss(spec_, runner_.device(), x, labels, probabilities, losses, dx));
    const int64_t n = x.shape()[0], pixels = spec_.image.height * spec_.image.width;
    double* const shares = scratch_.shares.data<double>();
    DTNN_RETURN_IF_ERROR(runner_.ForEachRow(
        "labelled pixels", n, LabelledShareBody{pixels, labels.data<int32_t>(), shares}));
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) -> absl::Status {
      DTNN_RETURN_IF_ERROR(runner_.ForEach(
          "pixel loss", n * pixels,
          PixelLossBodyOf<T>(spec_, scratch_, x, labels, probabilities, dx, scale)));
      return runner_.ForEachRow("image loss", n,
                                ImageLossBody<Wide<T>>{pixels, scratch_.losses.data<double>(),
                                                       shares, losses.data<Wide<T>>()});
    });
  }

 private:
  GpuRunner runner_;
  const PixelLossSpec spec_;
  const PixelLossScratch scratch_;
};

absl::StatusOr<std::unique_ptr<PixelLoss>> CreatePixelLossGpu(DeviceContext& context,
                                                              const PixelLossSpec& spec) {
  PixelLossScratch scratch;
  const auto allocate = [&](int64_t count) {
    return Tensor::Allocate(context.device(), DType::kFloat64, Shape{count});
  };
  DTNN_ASSIGN_OR_RETURN(scratch.losses,
                        allocate(spec.images * spec.image.height * spec.image.width));
  DTNN_ASSIGN_OR_RETURN(scratch.shares, allocate(spec.images));
  if (const int64_t count = int64_t(spec.class_weights.size()); count > 0) {
    DTNN_ASSIGN_OR_RETURN(const Tensor host,
                          Tensor::Allocate(Device::Cpu(), DType::kFloat64, Shape{count}));
    std::ranges::copy(spec.class_weights, host.data<double>());
    DTNN_ASSIGN_OR_RETURN(scratch.class_weights, ToDevice(context, host));
  }
  return std::make_unique<PixelLossGpu>(GpuRunner(context), spec, std::move(scratch));
}

}  // namespace dtnn
