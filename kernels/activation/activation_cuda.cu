#include "kernels/activation/activation_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Activation>> CreateActivationCuda(DeviceContext& context,
                                                                 const ActivationSpec& spec) {
  return std::make_unique<ActivationCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)),
                                                     spec);
}

}  // namespace dtnn
