#include "models/trainer.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {

Trainer::Trainer(const Graph& graph, ParameterStore& store, DeviceContext& context,
                 const TrainerOptions& options)
    : graph_(graph),
      store_(&store),
      context_(&context),
      options_(options),
      learning_rate_(options.learning_rate) {}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const Graph& graph, ParameterStore& store,
                                                         DeviceContext& context,
                                                         const TrainerOptions& options) {
  if (options.figures.loss == nullptr) {
    return absl::InvalidArgumentError("a trainer needs a loss");
  }
  return std::unique_ptr<Trainer>(new Trainer(graph, store, context, options));
}

absl::StatusOr<std::unique_ptr<Plan>> Trainer::Compile(int64_t batch, bool training) {
  const int rank = options_.communicator == nullptr ? 0 : options_.communicator->rank();
  return Plan::Compile(graph_, *store_, *context_,
                       {.batch = batch,
                        .training = training,
                        .loss = options_.figures.loss.get(),
                        .conv_variant = options_.conv_variant,
                        .random_seed = options_.random_seed + uint64_t(rank)});
}

absl::Status Trainer::PrepareForTraining(int64_t max_batch) {
  if (options_.optimizer == nullptr) {
    return absl::InvalidArgumentError("training needs an optimizer");
  }
  if (update_ == nullptr) {
    DTNN_RETURN_IF_ERROR(store_->AllocateForTraining(*context_, options_.optimizer->slots()));
    DTNN_ASSIGN_OR_RETURN(update_, options_.optimizer->Bind(*context_, store_->dtype()));
    if (options_.communicator != nullptr) {
      DTNN_RETURN_IF_ERROR(options_.communicator->Broadcast(store_->all_values(), /*root=*/0));
      store_->MarkChanged();
    }
  }
  if (training_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(training_plan_, Compile(max_batch, /*training=*/true));
    training_batch_ = max_batch;
  }
  return absl::OkStatus();
}

absl::Status Trainer::PrepareForEvaluation(int64_t max_batch) {
  if (evaluation_batch_ < max_batch) {
    DTNN_ASSIGN_OR_RETURN(evaluation_plan_, Compile(max_batch, /*training=*/false));
    evaluation_batch_ = max_batch;
  }
  return absl::OkStatus();
}

absl::Status Trainer::Step(const Batch& batch, Averages* averages) {
  if (training_plan_ == nullptr) {
    return absl::FailedPreconditionError("Trainer::Step was called before PrepareForTraining");
  }
  DTNN_RETURN_IF_ERROR(training_plan_->ForwardBackward(
      batch.x, batch.targets, 1.0 / double(batch.global_count), steps_done_));
  if (averages != nullptr) {
    const double loss = training_plan_->LossSum();
    if (!std::isfinite(loss)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the loss is ", loss, " after ", steps_done_,
          " steps: training has diverged; lower the learning rate (now ", learning_rate_, ")"));
    }
    averages->Add(loss, training_plan_->predictions(), batch.targets);
  }
  if (options_.communicator != nullptr) {
    DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(store_->gradients()));
  }
  ++steps_done_;
  DTNN_RETURN_IF_ERROR(update_->Run(store_->values(), store_->gradients(), store_->slots(),
                                    learning_rate_, steps_done_));
  store_->MarkChanged();
  return absl::OkStatus();
}

// Sums the figures of all ranks.
absl::Status Trainer::Combine(Averages& averages) {
  if (options_.communicator == nullptr) return absl::OkStatus();
  const std::vector<double> values = averages.ToDoubles();
  DTNN_ASSIGN_OR_RETURN(Tensor sums, Tensor::Zeros(DType::kFloat64, Shape{int64_t(values.size())}));
  std::memcpy(sums.raw_data(), values.data(), values.size() * sizeof(double));
  DTNN_RETURN_IF_ERROR(options_.communicator->AllReduce(sums));
  averages.FromDoubles({sums.data<double>(), values.size()});
  return absl::OkStatus();
}

// A rank that cannot go on tells the others, which would wait for it otherwise.
absl::StatusOr<Averages> Trainer::RunPass(Loader& loader, Pass& pass,
                                          std::span<Callback* const> callbacks) {
  absl::StatusOr<Averages> averages = RunBatches(loader, pass, callbacks);
  if (!averages.ok() && options_.communicator != nullptr) {
    options_.communicator->Abort(averages.status());
  }
  return averages;
}

// One pass over the loader, training or evaluating by the kind of the pass.
absl::StatusOr<Averages> Trainer::RunBatches(Loader& loader, Pass& pass,
                                             std::span<Callback* const> callbacks) {
  const bool training = pass.kind == Pass::Kind::kTraining;
  DTNN_RETURN_IF_ERROR(training ? PrepareForTraining(loader.max_batch())
                                : PrepareForEvaluation(loader.max_batch()));
  Averages averages(options_.figures, graph_.output_shape()[0]);
  pass.samples = loader.samples();
  pass.done = 0;
  pass.averages = &averages;
  for (Callback* callback : callbacks) callback->OnPassBegin(pass);
  loader.StartEpoch(pass.epoch);
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader.Next());
    if (batch == nullptr) break;
    if (training) {
      DTNN_RETURN_IF_ERROR(Step(*batch, &averages));
    } else {
      DTNN_RETURN_IF_ERROR(evaluation_plan_->Evaluate(batch->x, batch->targets));
      averages.Add(evaluation_plan_->LossSum(), evaluation_plan_->predictions(), batch->targets);
    }
    pass.done += batch->global_count;
    for (Callback* callback : callbacks) callback->OnBatchEnd(pass);
  }
  DTNN_RETURN_IF_ERROR(Combine(averages));
  for (Callback* callback : callbacks) callback->OnPassEnd(pass);
  pass.averages = nullptr;
  return averages;
}

absl::Status Trainer::Train(Loader& training, Loader* validation, int64_t epochs,
                            std::span<Callback* const> callbacks) {
  epochs_done_ = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    Pass pass{.kind = Pass::Kind::kTraining, .epoch = epoch, .epochs = epochs};
    DTNN_ASSIGN_OR_RETURN(const Averages trained, RunPass(training, pass, callbacks));
    pass.averages = &trained;
    Pass validation_pass{.kind = Pass::Kind::kValidation, .epoch = epoch, .epochs = epochs};
    Averages validated;
    if (validation != nullptr) {
      DTNN_ASSIGN_OR_RETURN(validated, RunPass(*validation, validation_pass, callbacks));
      validation_pass.averages = &validated;
    }
    ++epochs_done_;
    bool go_on = true;
    for (Callback* callback : callbacks) {
      go_on &= callback->OnEpochEnd(pass, validation == nullptr ? nullptr : &validation_pass);
    }
    if (!go_on) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<Averages> Trainer::Evaluate(Loader& loader, std::span<Callback* const> callbacks) {
  Pass pass{.kind = Pass::Kind::kTest};
  return RunPass(loader, pass, callbacks);
}

}  // namespace dtnn
