#include "kernels/device/gpu_seconds.h"

#include <memory>

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<double> GpuSeconds(GpuContext& context, int calls,
                                  absl::FunctionRef<absl::Status()> call) {
  gpu::Stream& stream = context.stream();
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Event> begin,
                        stream.gpu().CreateEvent(gpu::Timing::kOn));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Event> end,
                        stream.gpu().CreateEvent(gpu::Timing::kOn));
  DTNN_RETURN_IF_ERROR(stream.Record(*begin));
  for (int i = 0; i < calls; ++i) DTNN_RETURN_IF_ERROR(call());
  DTNN_RETURN_IF_ERROR(stream.Record(*end));
  DTNN_RETURN_IF_ERROR(end->Synchronize());
  DTNN_ASSIGN_OR_RETURN(const double seconds, end->SecondsSince(*begin));
  return seconds / calls;
}

}  // namespace dtnn
