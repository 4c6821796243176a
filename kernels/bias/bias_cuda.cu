#include "kernels/bias/bias_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Bias>> CreateBiasCuda(DeviceContext& context, const BiasSpec& spec) {
  return BiasCuda<GpuRunner>::Create(GpuRunner(static_cast<CudaContext&>(context)), spec);
}

}  // namespace dtnn
