#include "kernels/dropout/dropout_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dropout>> CreateDropoutCuda(DeviceContext& context,
                                                           const DropoutSpec& spec) {
  return std::make_unique<DropoutCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)),
                                                  spec);
}

}  // namespace dtnn
