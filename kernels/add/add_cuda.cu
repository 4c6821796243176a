#include "kernels/add/add_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Add>> CreateAddCuda(DeviceContext& context, const AddSpec& spec) {
  return std::make_unique<AddCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)), spec);
}

}  // namespace dtnn
