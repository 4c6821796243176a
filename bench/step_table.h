// What a training step on a GPU reads and writes, kernel by kernel, known without a GPU: launches
// and the bytes that they declare (tensor/gpu/launch_log.h), from a step on a simulated GPU that
// logs its launches and computes nothing. And how long it would take, predicted from what a card
// was measured to do.
//
// Products and convolutions are kernels of the simulated GPU in the place of the libraries' own:
// their operands are the same, what a library does besides (workspaces, other launches) is not
// there.

#ifndef DTNN_BENCH_STEP_TABLE_H_
#define DTNN_BENCH_STEP_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/model_run.h"

namespace dtnn {

struct StepLine {
  std::string kernel;
  bool library = false;
  int64_t launches = 0;
  double read_bytes = 0, written_bytes = 0, predicted_seconds = 0;
};

struct StepTable {
  std::vector<StepLine> lines;  // by bytes, the most first; copies and fills too
  double own_bytes = 0, library_bytes = 0;
  int64_t launches = 0, copies = 0;  // of kernels; copies and fills of memory
  double predicted_seconds = 0;
};

// An NVIDIA H100 (HBM3), as measured: a kernel of our own takes the bytes over what copies reach,
// after what it takes to begin; a library's one has its operations besides.
struct CardModel {
  double own_bytes_per_second = 2.85e12, own_start = 2.5e-6;
  double library_bytes_per_second = 1.6e12, library_start = 4e-6;
  double library_flops_per_second = 0;  // of the math mode
};
CardModel H100(MathMode mode);

// The table of a step as it repeats, for a network of the zoo; the options' device is ignored.
absl::StatusOr<StepTable> TableOfStep(const ModelRunOptions& options);

std::string ToText(const StepTable& table);
std::string ToJson(const StepTable& table, const ModelRunOptions& options);

}  // namespace dtnn

#endif  // DTNN_BENCH_STEP_TABLE_H_
