// Where a trainer's run stands, told and taken back.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/training/sampler_settings.h"
#include "models/training/trainer.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<TrainingState> Trainer::State() { return StateWith(/*all_ranks=*/true); }

absl::StatusOr<TrainingState> Trainer::StateAlone() { return StateWith(/*all_ranks=*/false); }

absl::StatusOr<TrainingState> Trainer::StateWith(bool all_ranks) {
  if (updater_ != nullptr && updater_->torn()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the update after step ", steps_done_,
        " ended with an error in its middle: the parameters are of no step and cannot be saved"));
  }
  if (diverged_) {
    return absl::FailedPreconditionError(
        absl::StrCat("training has diverged after ", steps_done_,
                     " steps: with these parameters the loss is NaN or infinite again"));
  }
  if (!settled()) {
    return absl::FailedPreconditionError(
        "the state of a run is complete only after an update of the parameters");
  }
  if (all_ranks) DTNN_RETURN_IF_ERROR(sync_.AverageStatistics(*store_));
  TrainingState state{.epoch = epochs_done_,
                      .step_in_epoch = step_in_epoch_,
                      .steps_done = steps_done_,
                      .ended = stopped_ && !in_epoch(),
                      .learning_rate = learning_rate_,
                      .random_seed = options_.random_seed,
                      .sampler = sampler_};
  if (!in_epoch()) return state;
  std::vector<double> sums = trained_.ToDoubles();
  if (all_ranks && !trained_by_all_) DTNN_RETURN_IF_ERROR(Combine(sums));
  state.figure_samples = int64_t(sums.back());
  sums.pop_back();
  state.figure_sums = std::move(sums);
  state.figure_names = options_.metric_set.Names();
  return state;
}

absl::Status Trainer::CheckState(const TrainingState& state) const {
  if (state.random_seed != options_.random_seed) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was begun with --random-seed=", state.random_seed, ", not ",
                     options_.random_seed));
  }
  if (!state.in_epoch()) return absl::OkStatus();
  const size_t sums =
      MetricAverages(options_.metric_set, graph_.output_shape()[0]).ToDoubles().size() - 1;
  if (state.figure_sums.size() != sums) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was left in the middle of an epoch with ", state.figure_sums.size(),
                     " sums for its loss and metrics; this one has ", sums,
                     ": give it the same --loss-func and --metrics"));
  }
  const std::vector<std::string> names = options_.metric_set.Names();
  if (!state.figure_names.empty() && state.figure_names != names) {
    return absl::InvalidArgumentError(
        absl::StrCat("the run was left in the middle of an epoch with the loss and metrics ",
                     absl::StrJoin(state.figure_names, ","), "; this one has ",
                     absl::StrJoin(names, ","), ": give it the same --loss-func and --metrics"));
  }
  return CheckPlace(state.sampler, state.step_in_epoch);
}

absl::Status Trainer::Restore(const TrainingState& state) {
  DTNN_RETURN_IF_ERROR(CheckState(state));
  epochs_done_ = state.epoch;
  step_in_epoch_ = state.step_in_epoch;
  steps_done_ = state.steps_done;
  ended_ = state.ended;
  diverged_ = false;
  pending_batches_ = pending_samples_ = 0;
  learning_rate_ = state.learning_rate;
  sampler_ = state.sampler;
  if (!in_epoch()) return absl::OkStatus();
  // The sums are all ranks': one of them takes them over.
  trained_ = MetricAverages(options_.metric_set, graph_.output_shape()[0]);
  trained_by_all_ = false;
  if (options_.communicator != nullptr && options_.communicator->rank() > 0)
    return absl::OkStatus();
  std::vector<double> values = state.figure_sums;
  values.push_back(double(state.figure_samples));
  trained_.FromDoubles(values);
  return absl::OkStatus();
}

}  // namespace dtnn
