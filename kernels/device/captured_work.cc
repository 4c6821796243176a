#include "kernels/device/captured_work.h"

#include <utility>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<CapturedWork>> CapturedWork::Capture(
    DeviceContext& context, absl::FunctionRef<absl::Status()> work) {
  if (context.device().is_cpu()) {
    return Unimplemented("work of ", context.device().ToString(), " cannot be captured");
  }
  auto& gpu_context = static_cast<GpuContext&>(context);
  DTNN_RETURN_IF_ERROR(gpu_context.stream().BeginCapture());
  const absl::Status queued = work();
  // Ends the capture in any case.
  absl::StatusOr<std::unique_ptr<gpu::Graph>> graph = gpu_context.stream().EndCapture();
  DTNN_RETURN_IF_ERROR(queued);
  DTNN_RETURN_IF_ERROR(graph.status());
  return std::unique_ptr<CapturedWork>(new CapturedWork(gpu_context, *std::move(graph)));
}

CapturedWork::~CapturedWork() { (void)context_->stream().Synchronize(); }

}  // namespace dtnn
