#include <string>
#include <utility>
#include <vector>

#include "kernels/device/device_traits.h"
#include "models/training/step/check_outputs.h"
#include "models/training/step/step_engine.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

std::string ReasonNotToCapture(const DeviceContext& context, const TrainerOptions& options) {
  if (!options.graphs) return "they are switched off";
  if (!TraitsOf(context.device()).replays_work) return "the device runs every call at once";
  if (options.communicator != nullptr) return "ranks exchange gradients in the middle of a step";
  return "";
}

// For what ranks draw each for itself. Seeds of neighbouring runs do not meet: those of ranks are
// far apart (2^64 over the golden ratio, an odd number). Rank 0's is that of the run.
uint64_t SeedOfRank(uint64_t seed, int rank) { return seed + 0x9e3779b97f4a7c15 * uint64_t(rank); }

// Whether samples can be protected so.
absl::Status CheckPrivateTraining(const Graph& graph, const TrainerOptions& options) {
  DTNN_RETURN_IF_ERROR(PrivateGradients::Check(options.privacy, graph));
  if (options.communicator != nullptr && options.communicator->size() > 1) {
    return absl::InvalidArgumentError(
        "differential privacy of samples is for one rank: gradients that ranks send each other "
        "would have no noise yet");
  }
  if (options.common_metrics) {
    return absl::InvalidArgumentError(
        "differential privacy of samples: not with metrics that are common in every step");
  }
  if (options.accumulate_steps == 1) return absl::OkStatus();
  return InvalidArgument(
      "differential privacy of samples: each batch is an update, so not with ",
      options.accumulate_steps,
      " batches per update; a larger batch takes no more memory for activations");
}

}  // namespace

StepEngine::StepEngine(const Graph& graph, ParameterStore& store, DeviceContext& context,
                       const TrainerOptions& options)
    : graph_(graph),
      store_(&store),
      context_(&context),
      options_(options),
      learning_rate_(options.learning_rate),
      sync_(options.communicator, context,
            {.models = options.model_sync,
             .at_start = options.initial_model_sync,
             .at_end = options.final_model_sync,
             .common_statistics = options.sync_batch_norm,
             .sum = options.reducer.sum}),
      average_(store, context),
      late_(TraitsOf(context.device()).replays_work && !options.common_metrics),
      graphs_(context, ReasonNotToCapture(context, options)) {
  if (options.sync_batch_norm && options.communicator != nullptr) {
    exchange_.emplace(*options.communicator);
  }
}

absl::StatusOr<std::unique_ptr<StepEngine>> StepEngine::Create(const Graph& graph,
                                                               ParameterStore& store,
                                                               DeviceContext& context,
                                                               const TrainerOptions& options) {
  if (options.metric_set.loss == nullptr) {
    return absl::InvalidArgumentError("a trainer needs a loss");
  }
  DTNN_RETURN_IF_ERROR(CheckOutputs(graph, *options.metric_set.loss));
  if (options.accumulate_steps < 1 || !(options.clip_norm >= 0)) {
    return InvalidArgument(
        "a trainer accumulates over 1 batch or more, not ", options.accumulate_steps,
        ", and clips to a norm above 0 or not at all (0), not to ", options.clip_norm);
  }
  if (options.privacy.enabled()) DTNN_RETURN_IF_ERROR(CheckPrivateTraining(graph, options));
  if (options.common_metrics && !options.whole_steps) {
    return absl::InvalidArgumentError("metrics that are common in every step need whole steps");
  }
  if (options.sync_batch_norm && options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "synchronised batch normalisation needs all ranks in every step, but with periodic model "
        "averages ranks take steps on their own");
  }
  const GradientReducerOptions& reducer = options.reducer;
  if (reducer.sum && (reducer.wire || reducer.collectives != nullptr || options.sync_batch_norm)) {
    return absl::InvalidArgumentError(
        "another sum over the ranks takes gradients as they are, on the host, and no statistics of "
        "single batches: not with 16 bits on the wire, sums on devices or synchronised batch "
        "normalisation");
  }
  if (options.optimizer != nullptr && options.optimizer->sparse_sum() &&
      options.model_sync.frequency != 0) {
    return InvalidArgument("optimizer ", options.optimizer->name(),
                           " sums what is largest in the gradients of all ranks in every step, but "
                           "with periodic model averages ranks take steps on their own");
  }
  if (options.optimizer != nullptr && options.optimizer->average_slot() &&
      options.model_sync.frequency != 0) {
    return absl::InvalidArgumentError(
        "an average of the parameters needs the same ones on all ranks, but with periodic model "
        "averages ranks take steps on their own");
  }
  std::unique_ptr<StepEngine> engine(new StepEngine(graph, store, context, options));
  DTNN_RETURN_IF_ERROR(engine->sync_.Check());
  return engine;
}

absl::StatusOr<std::unique_ptr<Plan>> StepEngine::Compile(int64_t batch, bool training,
                                                          ParameterStore& store,
                                                          DeviceContext& context) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(
      graph_, store, context,
      {.batch = batch,
       .training = training,
       .loss = training && options_.training_loss != nullptr ? options_.training_loss.get()
                                                             : options_.metric_set.loss.get(),
       .conv_variant = options_.conv_variant,
       .best_of = options_.best_of,
       .random_seed = SeedOfRank(options_.random_seed, rank),
       .fusions = options_.fusions,
       .ranks = training && exchange_ ? &*exchange_ : nullptr,
       .skips_zero_gradients =
           !options_.reducer.sum && !options_.privacy.enabled() &&
           (options_.optimizer == nullptr || !options_.optimizer->changes_gradients()),
       // Which plans of several threads cannot share.
       .workspaces = options_.keep_workspaces || (training && options_.privacy.enabled())
                         ? nullptr
                         : &workspace_use_});
}

// Everything but the plan, which depends on the batch.
absl::Status StepEngine::AllocateForTraining() {
  DTNN_RETURN_IF_ERROR(store_->AllocateForTraining(*context_, options_.optimizer->slots(),
                                                   options_.optimizer->average_slot()));
  if (options_.accumulate_steps > 1) {
    DTNN_ASSIGN_OR_RETURN(add_, CreateAdd(*context_, {.dtype = store_->dtype()}));
    DTNN_ASSIGN_OR_RETURN(accumulated_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                         store_->gradients().shape()));
  }
  if (options_.whole_steps && !store_->statistics().empty()) {
    DTNN_ASSIGN_OR_RETURN(settled_statistics_, Tensor::Allocate(context_->device(), store_->dtype(),
                                                                store_->statistics().shape()));
  }
  DTNN_RETURN_IF_ERROR(sync_.BeginTraining(*store_));
  DTNN_ASSIGN_OR_RETURN(updater_, Updater::Create(*store_, *context_, *options_.optimizer,
                                                  {.clip_norm = options_.clip_norm,
                                                   .whole_steps = options_.whole_steps,
                                                   .communicator = options_.communicator,
                                                   .reducer = options_.reducer,
                                                   .watches_losses = late_,
                                                   .choose_buckets = options_.choose_buckets}));
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (updater_ == nullptr) DTNN_RETURN_IF_ERROR(AllocateForTraining());
  if (training_batch_ < max_batch) {
    graphs_.Clear();
    private_.reset();
    const int64_t samples = options_.privacy.enabled() ? 1 : max_batch;
    DTNN_ASSIGN_OR_RETURN(training_plan_, Compile(samples, /*training=*/true, *store_, *context_));
    training_batch_ = 0;
    if (options_.privacy.enabled()) {
      const auto compile = [this](ParameterStore& store, DeviceContext& context) {
        return Compile(1, /*training=*/true, store, context);
      };
      DTNN_ASSIGN_OR_RETURN(private_,
                            PrivateSteps::Create(options_.privacy, graph_, *store_, *context_,
                                                 *training_plan_, max_batch, compile));
    }
    training_batch_ = max_batch;
    if (!late_) return absl::OkStatus();
    std::vector<LateReads::Kind> results = {
        {store_->dtype(), Shape{max_batch}},
        {store_->dtype(), graph_.output_shape().Prepend(max_batch)}};
    if (options_.clip_norm > 0) results.push_back({DType::kFloat64, Shape{1}});
    DTNN_ASSIGN_OR_RETURN(late_reads_, LateReads::Create(*context_, results, waiting_.size()));
  }
  return absl::OkStatus();
}

absl::Status StepEngine::PrepareForEvaluation(int64_t max_batch) {
  if (evaluation_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(evaluation_plan_,
                          Compile(max_batch, /*training=*/false, *store_, *context_));
    evaluation_batch_ = max_batch;
  }
  return absl::OkStatus();
}

}  // namespace dtnn
