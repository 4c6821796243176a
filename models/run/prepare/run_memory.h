// The memory that a run needs, computed from its plans before anything is allocated, and whether it
// is free: the system kills a process that uses more than there is, without a message.

#ifndef DTNN_MODELS_RUN_PREPARE_RUN_MEMORY_H_
#define DTNN_MODELS_RUN_PREPARE_RUN_MEMORY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/best_of/best_of.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/plan/plan_layout.h"
#include "models/run/options/run_options.h"
#include "models/run/tables/memory_table.h"
#include "optim/losses/loss.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/machine/available_memory.h"

namespace dtnn {

// Samples per step; 0: the run does not train or test.
struct RunBatches {
  int64_t training = 0, testing = 0;
  int64_t ahead =
      0;  // samples in the batches of all loaders, which are read before they are needed
};

struct RunMemory {
  RunBatches batches = {};
  double parameters = 0;  // and their gradients and the optimizer's state
  std::optional<PlanMemory> training = {}, testing = {};  // plans, which share the parameters
  NamedBytes others = {};                                 // what else the run holds

  double all_others() const;

  double all() const;
};

// What each of `ranks` ranks takes. `optimizer`: null for a run that only tests. `best_of`: decides
// for every convolution that it does not know yet, as the plans will; null: they do without.
absl::StatusOr<RunMemory> MeasureMemory(const RunOptions& options, const Graph& graph,
                                        const Loss& loss, const Optimizer* optimizer,
                                        DeviceContext& context, const RunBatches& batches,
                                        int ranks = 1, BestOf* best_of = nullptr);

// Samples that a loader holds whose steps have at most `batch`.
int64_t SamplesAhead(int64_t batch);

// ResourceExhausted if the `ranks` of this host, each of which needs this much, do not fit; the
// message says what needs how much, and what to do.
absl::Status CheckMemory(const RunMemory& memory, const AvailableMemory& available, int ranks);
// The same for `threads` threads of one process, each of which trains a model of its own; one of
// them tests. `together`: bytes that they share.
absl::Status CheckMemoryOfThreads(const RunMemory& memory, double together,
                                  const AvailableMemory& available, int threads);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_RUN_MEMORY_H_
