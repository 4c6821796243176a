// Work of a GPU that is queued once and then replayed as one operation: on NVIDIA's GPUs a CUDA
// graph.
//
//   DTNN_ASSIGN_OR_RETURN(auto step, CapturedWork::Capture(context, [&] { return QueueStep(); }));
//   DTNN_RETURN_IF_ERROR(step->Replay());   // and again
//
// Addresses, sizes and arguments are those of the capture; what changes is read from device memory
// (transfers/device_numbers.h) or was brought to a fixed place (transfers/transfers.h). What was
// not called before should be called once before a capture, since first calls may allocate.

#ifndef DTNN_KERNELS_DEVICE_CAPTURED_WORK_H_
#define DTNN_KERNELS_DEVICE_CAPTURED_WORK_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"

namespace dtnn {

class CapturedWork {
 public:
  // Calls `work`, whose work does not run now. Its error; or FailedPrecondition where it did what
  // a capture forbids (tensor/gpu/driver.h), such as waiting; Unimplemented on a CPU, whose work
  // is done when a call returns (DeviceTraits::replays_work).
  static absl::StatusOr<std::unique_ptr<CapturedWork>> Capture(
      DeviceContext& context, absl::FunctionRef<absl::Status()> work);
  // Waits for what it has queued.
  ~CapturedWork();

  absl::Status Replay() { return context_->stream().Replay(*graph_); }

 private:
  CapturedWork(GpuContext& context, std::unique_ptr<gpu::Graph> graph)
      : context_(&context), graph_(std::move(graph)) {}

  GpuContext* context_;
  std::unique_ptr<gpu::Graph> graph_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_CAPTURED_WORK_H_
