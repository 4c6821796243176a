#include "kernels/pixel_loss/pixel_loss.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/pixel_loss/bodies.h"
#include "kernels/pixel_loss/pixel_loss_gpu.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class PixelLossCpu : public PixelLoss {
 public:
  static absl::StatusOr<std::unique_ptr<PixelLoss>> Create(const PixelLossSpec& spec) {
    PixelLossScratch scratch;
    const int64_t pixels = spec.image.height * spec.image.width;
    const auto allocate = [](int64_t count) {
      return Tensor::Allocate(Device::Cpu(), DType::kFloat64, Shape{count});
    };
    DTNN_ASSIGN_OR_RETURN(scratch.losses, allocate(spec.images * pixels));
    DTNN_ASSIGN_OR_RETURN(scratch.shares, allocate(spec.images));
    if (!spec.class_weights.empty()) {
      DTNN_ASSIGN_OR_RETURN(scratch.class_weights, allocate(int64_t(spec.class_weights.size())));
      std::ranges::copy(spec.class_weights, scratch.class_weights.data<double>());
    }
    return std::unique_ptr<PixelLoss>(new PixelLossCpu(spec, std::move(scratch)));
  }

  absl::Status Run(const Tensor& x, const Tensor& labels, const Tensor& probabilities,
                   const Tensor& losses, const Tensor& dx, const GradientScale& scale) override {
    DTNN_RETURN_IF_ERROR(
        CheckPixelLoss(spec_, Device::Cpu(), x, labels, probabilities, losses, dx));
    const int64_t n = x.shape()[0], pixels = spec_.image.height * spec_.image.width;
    double* const shares = scratch_.shares.data<double>();
    for (int64_t i = 0; i < n; ++i) {
      const int32_t* const of_image = labels.data<int32_t>() + i * pixels;
      const int64_t labelled =
          std::count_if(of_image, of_image + pixels, [](int32_t label) { return label >= 0; });
      shares[i] = labelled == 0 ? 0 : 1 / double(labelled);
    }
    const int64_t grain = std::max<int64_t>(1, kMathGrain / spec_.image.channels);
    DispatchCpuFloating(spec_.dtype, [&]<typename T>(T) {
      const PixelLossBody<T> body =
          PixelLossBodyOf<T>(spec_, scratch_, x, labels, probabilities, dx, scale);
      ParallelFor(0, n * pixels, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) body(i);
      });
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < pixels; ++j) sum += body.losses[i * pixels + j];
        losses.data<Wide<T>>()[i] = Wide<T>(sum * shares[i]);
      }
    });
    return absl::OkStatus();
  }

 private:
  PixelLossCpu(const PixelLossSpec& spec, PixelLossScratch scratch)
      : spec_(spec), scratch_(std::move(scratch)) {}

  const PixelLossSpec spec_;
  const PixelLossScratch scratch_;
};

absl::Status Validate(Device device, const PixelLossSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("pixel loss", device, spec.dtype));
  if (spec.images < 1 || spec.image.height < 1 || spec.image.width < 1 || spec.image.channels < 1) {
    return InvalidArgument("pixel loss: ", spec.images, " images of ", ToString(spec.image),
                           ", expected at least one of each");
  }
  if (!(spec.label_smoothing >= 0 && spec.label_smoothing < 1)) {
    return InvalidArgument("pixel loss: label smoothing is ", spec.label_smoothing,
                           ", expected 0 <= s < 1");
  }
  const int64_t weights = int64_t(spec.class_weights.size());
  if (weights == 0 || weights == spec.image.channels) return absl::OkStatus();
  return InvalidArgument("pixel loss: ", weights, " class weights for ", spec.image.channels,
                         " classes, expected one for each");
}

}  // namespace

absl::StatusOr<std::unique_ptr<PixelLoss>> CreatePixelLoss(DeviceContext& context,
                                                           const PixelLossSpec& spec) {
  DTNN_RETURN_IF_ERROR(Validate(context.device(), spec));
  if (context.device().is_cpu()) return PixelLossCpu::Create(spec);
  return CreatePixelLossGpu(context, spec);
}

}  // namespace dtnn
