#include <memory>

#include "kernels/conv/gpu/cudnn/descriptor.h"
#include "kernels/conv/gpu/cudnn/library.h"
#include "kernels/libraries/library_version.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

constexpr size_t kMostPlans = 4096;

absl::Status CheckVersion() {
  return CheckLibraryVersion("cuDNN", LibraryVersion::Of(int64_t(cudnnGetVersion()), 10000, 100),
                             {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL});
}

}  // namespace

absl::StatusOr<Library*> Library::Of(CudaContext& context) {
  std::shared_ptr<void>& kept = context.dnn();
  if (kept == nullptr) {
    DTNN_RETURN_IF_ERROR(CheckVersion());
    DTNN_RETURN_IF_ERROR(context.MakeCurrent());
    cudnnHandle_t handle = nullptr;
    DTNN_RETURN_IF_ERROR(StatusOf("starting cuDNN", cudnnCreate(&handle)));
    std::shared_ptr<Library> made(new Library(context, handle));
    DTNN_RETURN_IF_ERROR(
        StatusOf("giving cuDNN a stream",
                 cudnnSetStream(handle, static_cast<cudaStream_t>(context.stream().native()))));
    kept = std::move(made);
  }
  return static_cast<Library*>(kept.get());
}

Library::~Library() {
  plans_.Clear();
  (void)cudnnDestroy(handle_);
}

PlanCache<Plan>::Kept Library::PlanOf(const PlanKey& key,
                                      absl::FunctionRef<absl::StatusOr<Plan>()> make) {
  if (plans_.size() >= kMostPlans) {
    // What is queued may still run the code of a plan.
    DTNN_RETURN_IF_ERROR(context_->Synchronize());
    plans_.Clear();
  }
  DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
  return plans_.Get(key, make);
}

}  // namespace dtnn::cudnn
