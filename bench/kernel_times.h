// When NVIDIA's GPUs ran which kernel, copy or fill: what CUPTI's activity records say, also of the
// nodes of CUDA graphs. Only with --config=cuda.
//
// The library is loaded when it is asked for, so programs run without it. It slows a step down a
// little, the kernels themselves not.

#ifndef DTNN_BENCH_KERNEL_TIMES_H_
#define DTNN_BENCH_KERNEL_TIMES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class KernelTimes {
 public:
  struct Record {
    std::string name;           // of kernels as the compiler names them; "copy", "fill"
    double start = 0, end = 0;  // seconds
  };

  // Before the work. One at a time in a process. NotFound without the library, Unimplemented where
  // the toolkit of the build had no header of it.
  static absl::StatusOr<std::unique_ptr<KernelTimes>> Start();
  virtual ~KernelTimes() = default;

  // What has run since the last call, in the order of time. The caller has waited for it.
  virtual absl::StatusOr<std::vector<Record>> Take() = 0;
};

}  // namespace dtnn

#endif  // DTNN_BENCH_KERNEL_TIMES_H_
