#include "kernels/byte_images/byte_images.h"

#include "kernels/byte_images/body.h"
#include "kernels/byte_images/byte_images_gpu.h"
#include "kernels/byte_images/check.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class ByteImagesCpu : public ByteImages {
 public:
  explicit ByteImagesCpu(const ByteImagesSpec& spec) : spec_(spec) {}

  absl::Status Run(const Tensor& bytes, const Tensor& changes, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(
        CheckByteImages(spec_, Device::Cpu(), spec_.values.dtype(), bytes, changes, y));
    DispatchFloating(spec_.values.dtype(), [&]<typename T>(T) {
      const auto body = ByteImagesBody<T>::Of(spec_, bytes, changes, spec_.values, y);
      ParallelFor(0, body.pixels.size(), kMathGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) body(i);
      });
    });
    return absl::OkStatus();
  }

 private:
  ByteImagesSpec spec_;
};

absl::Status CheckSpec(const ByteImagesSpec& spec) {
  constexpr int64_t kLongestSide = int64_t{1} << 30;  // places and windows are 32 bits
  constexpr int64_t kMostChanges = 64;
  const auto& [height, width, channels] = spec.sample;
  if (height < 1 || width < 1 || channels < 1 || height > kLongestSide || width > kLongestSide) {
    return InvalidArgument("byte_images: images of ", ToString(spec.sample),
                           " pixels, expected sides of 1 to 2^30 and a channel or more");
  }
  const int64_t extents[] = {height, width, channels};
  DTNN_RETURN_IF_ERROR(WithContext(Shape::Make(extents).status(), "byte_images"));
  if (spec.changes < 0 || spec.changes > kMostChanges) {
    return InvalidArgument("byte_images: ", spec.changes, " changes of each image, expected 0 to ",
                           kMostChanges);
  }
  const Tensor& values = spec.values;
  if (values.empty() || !values.device().is_cpu() || !IsFloating(values.dtype()) ||
      !values.dense() || values.shape().rank() != 2 || values.shape()[0] != channels ||
      values.shape()[1] != 256) {
    return InvalidArgument(
        "byte_images: the table of values must be dense, on the host, float32 or float64, of shape "
        "(",
        channels, ", 256)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteImages>> CreateByteImages(DeviceContext& context,
                                                             const ByteImagesSpec& spec,
                                                             DType dtype) {
  DTNN_RETURN_IF_ERROR(CheckSpec(spec));
  DTNN_RETURN_IF_ERROR(CheckFloating("byte_images", context.device(), dtype));
  if (WideOf(dtype) != spec.values.dtype()) {
    return InvalidArgument("byte_images: values in ", Name(dtype), " from a table in ",
                           Name(spec.values.dtype()));
  }
  if (context.device().is_cpu()) return std::make_unique<ByteImagesCpu>(spec);
  return CreateByteImagesGpu(context, spec, dtype);
}

}  // namespace dtnn
