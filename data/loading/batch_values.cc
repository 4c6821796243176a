#include "data/loading/batch_values.h"

#include "kernels/byte_images/byte_images.h"
#include "kernels/context.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<Tensor> ValuesOf(const Batch& batch) {
  if (batch.bytes == nullptr) return batch.x;
  const ByteImagesSpec& spec = *batch.bytes;
  const DType dtype = spec.values.dtype();
  DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(const auto images, CreateByteImages(*context, spec, dtype));
  DTNN_ASSIGN_OR_RETURN(
      Tensor values, Tensor::Allocate(Device::Cpu(), dtype, spec.values_shape(batch.x.shape()[0])));
  DTNN_RETURN_IF_ERROR(images->Run(batch.x, batch.changes, values));
  return values;
}

}  // namespace dtnn
