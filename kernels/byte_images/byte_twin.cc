#include "kernels/byte_images/byte_twin.h"

#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ByteTwin>> ByteTwin::Create(
    DeviceContext& context, std::shared_ptr<const ByteImagesSpec> spec, DType dtype, int64_t most) {
  auto twin = std::make_unique<ByteTwin>();
  DTNN_ASSIGN_OR_RETURN(twin->images_, CreateByteImages(context, *spec, dtype));
  DTNN_ASSIGN_OR_RETURN(twin->bytes_,
                        DeviceTwin::Create(context, DType::kUint8, spec->bytes_shape(most)));
  if (spec->changes > 0) {
    DTNN_ASSIGN_OR_RETURN(twin->changes_,
                          DeviceTwin::Create(context, DType::kInt32, spec->changes_shape(most)));
  }
  twin->spec_ = std::move(spec);
  return twin;
}

absl::Status ByteTwin::Put(const Tensor& bytes, const Tensor& changes, const Tensor& y) {
  DTNN_ASSIGN_OR_RETURN(const Tensor device_bytes, bytes_.Put(bytes));
  Tensor device_changes;
  if (spec_->changes > 0) {
    DTNN_ASSIGN_OR_RETURN(device_changes, changes_.Put(changes));
  }
  return images_->Run(device_bytes, device_changes, y);
}

}  // namespace dtnn
