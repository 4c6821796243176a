// The learning rate of a run that finds it itself.

#include <memory>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "models/run/initial_weights.h"
#include "models/run/run_work.h"
#include "models/run/tables/rate_table.h"
#include "models/training/rates/learning_rate_range.h"
#include "models/training/step/step_engine.h"
#include "tensor/errors.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// The test has parameters of its own, which are dropped after it: the run begins as if the rate had
// been given. What is loaded is said when the run begins.
absl::StatusOr<LearningRateRange> TestRates(const PreparedRun& run, const TrainerOptions& options) {
  RunLog silent(run.options, run.rank, run.ranks, {});
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ParameterStore> store,
                        ParameterStore::Create(run.graph, *run.context, ElementTypeOf(run.options),
                                               options.random_seed));
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, LoadInitialWeights(run, *store, silent)));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<StepEngine> engine,
                        StepEngine::Create(run.graph, *store, *run.context, options));
  return FindLearningRate(*engine, *run.loaders.training);
}

}  // namespace

absl::Status RunWork::FindRate() {
  OptimizerOptions& optimizer = run_.options.optimizer;
  if (!optimizer.find_learning_rate || run_.options.training.evaluate_only) return absl::OkStatus();
  log_.Log("**** Looking for a learning rate...\n");
  absl::StatusOr<LearningRateRange> range = TestRates(run_, Training());
  if (!range.ok()) {
    const absl::Status status =
        WithContext(range.status(), "RunOptions::optimizer.find_learning_rate");
    // That no rate is good all ranks find together; of another error the others may not know.
    if (absl::IsFailedPrecondition(status)) return Agree(run_.communicator, status);
    if (run_.communicator != nullptr) run_.communicator->Abort(status);
    return status;
  }
  rates_ = *std::move(range);
  log_.Log(FormatRateRange(rates_));
  optimizer.find_learning_rate = false;
  // The rates of the test were those of all ranks together.
  optimizer.learning_rate = 1;
  optimizer.learning_rate = rates_.suggestion / InitialLearningRate(run_.options, run_.ranks);
  const bool tells = run_.rank == 0 && run_.objects.on_learning_rate;
  return Agree(run_.communicator,
               tells ? run_.objects.on_learning_rate(optimizer.learning_rate) : absl::OkStatus());
}

}  // namespace dtnn
