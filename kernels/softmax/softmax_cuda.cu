#include "kernels/softmax/softmax_cuda.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Softmax>> CreateSoftmaxCuda(DeviceContext& context,
                                                           const SoftmaxSpec& spec) {
  return std::make_unique<SoftmaxCuda<GpuRunner>>(GpuRunner(static_cast<CudaContext&>(context)),
                                                  spec);
}

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropy>> CreateSoftmaxCrossEntropyCuda(
    DeviceContext& context, const SoftmaxSpec& spec) {
  return std::make_unique<SoftmaxCrossEntropyCuda<GpuRunner>>(
      GpuRunner(static_cast<CudaContext&>(context)), spec);
}

}  // namespace dtnn
