// Where the time of a training step on a GPU goes, kernel by kernel: calls, milliseconds, and of
// our own kernels the bytes that they declare (tensor/gpu/launch_log.h), so that each can be
// compared with the card's bandwidth.

#ifndef DTNN_BENCH_GPU_PROFILE_H_
#define DTNN_BENCH_GPU_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/model_run.h"

namespace dtnn {

struct KernelLine {
  std::string name;  // "BodyName: what it is for", or a library's name of its kernel
  bool own = false;
  int64_t calls = 0;   // per step
  double seconds = 0;  // per step; 0 on a simulated GPU
  double bytes = 0;    // of our own
};

struct KernelProfile {
  std::vector<KernelLine> lines;  // the slowest first
  double step_seconds = 0;        // of the clock, replayed, with CUPTI at work
  std::string note;               // what is missing, and why
};

// The profile of a step as it repeats; without times on a simulated device.
absl::StatusOr<KernelProfile> ProfileStep(const ModelRunOptions& options);

// "RunFunctor<EachElement<dtnn::ScaleBody<float>>>..." is ScaleBody: the first name in it that is
// one of a body.
std::string BodyName(std::string_view demangled);

std::string ToTable(const KernelProfile& profile);
// A JSON object per line.
std::string ToJsonLines(const KernelProfile& profile, const ModelRunOptions& options);

}  // namespace dtnn

#endif  // DTNN_BENCH_GPU_PROFILE_H_
