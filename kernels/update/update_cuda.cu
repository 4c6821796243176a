#include "kernels/update/update_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Update>> CreateUpdateCuda(DeviceContext& context,
                                                         const UpdateSpec& spec) {
  return std::make_unique<UpdateCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)),
                                                 spec);
}

}  // namespace dtnn
