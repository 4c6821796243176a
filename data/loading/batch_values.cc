#include "data/loading/batch_values.h"

#include "kernels/byte_images/byte_images.h"
#include "kernels/device/context.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<Tensor> ValuesOf(const Batch& batch, int64_t first, int64_t count) {
  const auto part = [&](const Tensor& all) {
    return all.Samples(first, count, TensorFormat::kNHWC);  // of either format
  };
  if (batch.bytes == nullptr) return part(batch.x);
  const ByteImagesSpec& spec = *batch.bytes;
  const DType dtype = spec.values.dtype();
  DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(const auto images, CreateByteImages(*context, spec, dtype));
  DTNN_ASSIGN_OR_RETURN(Tensor values,
                        Tensor::Allocate(Device::Cpu(), dtype, spec.values_shape(count)));
  DTNN_RETURN_IF_ERROR(images->Run(
      part(batch.x), batch.changes.empty() ? batch.changes : part(batch.changes), values));
  return values;
}

}  // namespace dtnn
