#include "kernels/update/update_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Update>> CreateUpdateCuda(DeviceContext& context,
                                                         const UpdateSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(Tensor bounds, DecayBounds(spec));
  if (!bounds.empty()) {
    DTNN_ASSIGN_OR_RETURN(Tensor device_bounds,
                          Tensor::Allocate(context.device(), DType::kInt64, bounds.shape()));
    DTNN_RETURN_IF_ERROR(context.Copy(bounds, device_bounds));
    DTNN_RETURN_IF_ERROR(context.Synchronize());
    bounds = device_bounds;
  }
  return std::make_unique<UpdateCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)),
                                                 spec, bounds);
}

}  // namespace dtnn
