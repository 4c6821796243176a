// Where a device finds the values of images that the host brings as bytes, again and again: what
// DeviceTwin (transfers/transfers.h) is to values, with a quarter of the traffic.

#ifndef DTNN_KERNELS_BYTE_IMAGES_BYTE_TWIN_H_
#define DTNN_KERNELS_BYTE_IMAGES_BYTE_TWIN_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/device/context.h"
#include "kernels/transfers/transfers.h"
#include "tensor/tensor.h"

namespace dtnn {

class ByteTwin {
 public:
  // For up to `most` images, which become values of `dtype`. Errors as CreateByteImages;
  // ResourceExhausted without memory on the device.
  static absl::StatusOr<std::unique_ptr<ByteTwin>> Create(
      DeviceContext& context, std::shared_ptr<const ByteImagesSpec> spec, DType dtype,
      int64_t most);

  const std::shared_ptr<const ByteImagesSpec>& spec() const { return spec_; }
  // Queues what writes the values to `y`, on the device. `bytes` and `changes` are the host's,
  // dense, of the shapes that the spec says, and have been read when the call returns. Not in a
  // capture.
  absl::Status Put(const Tensor& bytes, const Tensor& changes, const Tensor& y);

 private:
  std::shared_ptr<const ByteImagesSpec> spec_;
  std::unique_ptr<ByteImages> images_;
  DeviceTwin bytes_, changes_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BYTE_IMAGES_BYTE_TWIN_H_
