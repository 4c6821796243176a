// What the users of cuDNN share in a context: its handle, and the plans that were made with it. For
// .cu files.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_LIBRARY_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_LIBRARY_H_

#include <cudnn.h>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "kernels/conv/gpu/cudnn/plan_cache.h"
#include "kernels/device/cuda_context.h"

namespace dtnn::cudnn {

class Library {
 public:
  // That of the context, made by the first call; FailedPrecondition for another version of cuDNN
  // than the one that this program was built with.
  static absl::StatusOr<Library*> Of(CudaContext& context);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // On the context's stream.
  cudnnHandle_t handle() const { return handle_; }
  // The plan of an earlier call, of whatever convolution, or as `make` makes it now. When there are
  // very many, all are forgotten, but for those that convolutions hold.
  PlanCache<Plan>::Kept PlanOf(const PlanKey& key, absl::FunctionRef<absl::StatusOr<Plan>()> make);

 private:
  Library(CudaContext& context, cudnnHandle_t handle) : context_(&context), handle_(handle) {}

  CudaContext* context_;
  cudnnHandle_t handle_;
  PlanCache<Plan> plans_;
};

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_LIBRARY_H_
