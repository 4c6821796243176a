#include <utility>

#include "kernels/byte_images/body.h"
#include "kernels/byte_images/byte_images_gpu.h"
#include "kernels/byte_images/check.h"
#include "kernels/gpu/runner.h"
#include "kernels/transfers/transfers.h"
#include "tensor/status_macros.h"

namespace dtnn {

class ByteImagesGpu : public ByteImages {
 public:
  ByteImagesGpu(const GpuRunner& runner, const ByteImagesSpec& spec, Tensor values)
      : runner_(runner), spec_(spec), values_(std::move(values)) {}

  absl::Status Run(const Tensor& bytes, const Tensor& changes, const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(
        CheckByteImages(spec_, runner_.device(), values_.dtype(), bytes, changes, y));
    return DispatchGpuFloating(values_.dtype(), [&]<typename T>(T) {
      const auto body = ByteImagesBody<T>::Of(spec_, bytes, changes, values_, y);
      return runner_.ForEach("byte_images", body.pixels.size(), body);
    });
  }

 private:
  GpuRunner runner_;
  ByteImagesSpec spec_;
  Tensor values_;  // on the device
};

namespace {

// The table in 16 bits.
template <typename Half>
absl::StatusOr<Tensor> Rounded(const Tensor& values) {
  DTNN_ASSIGN_OR_RETURN(Tensor rounded,
                        Tensor::Allocate(Device::Cpu(), DTypeOf<Half>(), values.shape()));
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    rounded.data<Half>()[i] = Half(values.data<float>()[i]);
  }
  return rounded;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteImages>> CreateByteImagesGpu(DeviceContext& context,
                                                                const ByteImagesSpec& spec,
                                                                DType dtype) {
  Tensor values = spec.values;
  if (dtype == DType::kFloat16) {
    DTNN_ASSIGN_OR_RETURN(values, Rounded<Float16>(values));
  } else if (dtype == DType::kBfloat16) {
    DTNN_ASSIGN_OR_RETURN(values, Rounded<Bfloat16>(values));
  }
  DTNN_ASSIGN_OR_RETURN(values, ToDevice(context, values));
  return std::make_unique<ByteImagesGpu>(GpuRunner(context), spec, std::move(values));
}

}  // namespace dtnn
