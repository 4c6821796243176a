// How long work takes on a GPU, by the GPU's own clock: the host's says how long the host waits,
// which for short work is mostly its own way there and back.

#ifndef DTNN_KERNELS_DEVICE_GPU_SECONDS_H_
#define DTNN_KERNELS_DEVICE_GPU_SECONDS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/gpu_context.h"

namespace dtnn {

// Queues the work of so many calls on the context's stream, waits for it, and answers the seconds
// of one. An error of a call ends it.
absl::StatusOr<double> GpuSeconds(GpuContext& context, int calls,
                                  absl::FunctionRef<absl::Status()> call);

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_GPU_SECONDS_H_
