// What every implementation of ByteImages checks before a call.

#ifndef DTNN_KERNELS_BYTE_IMAGES_CHECK_H_
#define DTNN_KERNELS_BYTE_IMAGES_CHECK_H_

#include "absl/status/status.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

inline absl::Status CheckByteImages(const ByteImagesSpec& spec, Device device, DType dtype,
                                    const Tensor& bytes, const Tensor& changes, const Tensor& y) {
  constexpr std::string_view kName = "byte_images";
  if (bytes.empty()) return InvalidArgument(kName, ": the bytes have no memory");
  const int64_t n = bytes.shape().rank() > 0 ? bytes.shape()[0] : 0;
  DTNN_RETURN_IF_ERROR(CheckOperand(kName, "the bytes", bytes, device, DType::kUint8,
                                    spec.bytes_shape(n), Pitch::kNone));
  DTNN_RETURN_IF_ERROR(
      CheckOperand(kName, "y", y, device, dtype, spec.values_shape(n), Pitch::kNone));
  if (spec.changes == 0) return absl::OkStatus();
  return CheckOperand(kName, "the changes", changes, device, DType::kInt32, spec.changes_shape(n),
                      Pitch::kNone);
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_CHECK_H_
