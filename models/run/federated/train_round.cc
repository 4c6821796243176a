#include "models/run/federated/train_round.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "models/checkpoint/training_state.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

using federation::RoundTask;

// As at the begin of a run, but for the place in the order of the data.
absl::Status Rewind(const RoundTraining& training, const RoundTask& task,
                    std::span<const float> control) {
  const std::vector<Tensor>& slots = training.store.slots();
  for (const Tensor& slot : slots) {
    std::fill_n(slot.data<float>(), size_t(slot.num_elements()), 0.0f);
  }
  const Tensor anchor = slots.back();
  const bool controlled = !task.control.empty();
  if (controlled) {
    std::ranges::transform(task.control, control, anchor.data<float>(), std::minus<float>());
  } else {
    std::copy_n(training.store.values().data<float>(), size_t(anchor.num_elements()),
                anchor.data<float>());
  }
  training.optimizer.set_mu(task.proximal);
  training.optimizer.set_adds_slot(controlled);
  training.optimizer.CountRates();
  TrainingState state;
  state.epoch = (task.round - 1) * training.options.training.epochs;
  for (Callback* callback : training.callbacks) {
    DTNN_RETURN_IF_ERROR(callback->OnRoundBegin(task.round, task.rounds, state.epoch));
  }
  state.learning_rate = InitialLearningRate(training.options, 1);
  state.random_seed = uint64_t(training.options.training.seed);
  return training.trainer.Restore(state);
}

// The loss may be finite where running statistics are not.
bool IsFinite(const Tensor& numbers) {
  return std::ranges::all_of(std::span(numbers.data<float>(), size_t(numbers.num_elements())),
                             [](float x) { return std::isfinite(x); });
}

}  // namespace

namespace {

// What a client's control variate changes by: the mean of its gradients, as its steps say, less the
// aggregator's.
std::vector<float> ChangeOf(const RoundTraining& training, const RoundTask& task) {
  const float* const trained = training.store.unfrozen().data<float>();
  const double rates = training.optimizer.rates();
  std::vector<float> change(task.control.size());
  if (rates <= 0) return change;  // it has not moved
  for (size_t i = 0; i < change.size(); ++i) {
    const double mean = (double(task.parameters[i]) - double(trained[i])) / rates;
    change[i] = float(mean - double(task.control[i]));
  }
  return change;
}

bool IsPlainSgd(const Optimizer& optimizer) {
  const auto constants = optimizer.constants();
  const auto momentum = constants.find("momentum");
  return optimizer.name() == "sgd" && (momentum == constants.end() || momentum->second == 0);
}

}  // namespace

int64_t StepsOfRound(const RunOptions& options, int64_t batches) {
  const auto steps =
      double(options.training.epochs) * double(CeilDiv(batches, options.training.accumulate_steps));
  return int64_t(std::clamp(steps, 1.0, double(federation::kMostSteps)));
}

// FedNova takes an update to be worth its gradient: momentum makes later ones worth more, and
// nothing like it holds for others.
absl::Status CheckCountOfSteps(const Optimizer& optimizer, int64_t steps) {
  if (!IsPlainSgd(optimizer)) {
    return FailedPrecondition(
        "the aggregator weighs updates by their number (fednova), which is right for plain SGD "
        "alone; train with RunOptions::optimizer.name=sgd and RunOptions::optimizer.momentum=0");
  }
  if (steps < federation::kMostSteps) return absl::OkStatus();
  return FailedPrecondition("the aggregator weighs updates by their number (fednova), and ",
                            federation::kMostSteps,
                            " or more in a round are too many; train with a smaller "
                            "RunOptions::training.epochs");
}

absl::Status CheckControlled(const Optimizer& optimizer) {
  if (IsPlainSgd(optimizer)) return absl::OkStatus();
  return FailedPrecondition(
      "the aggregator has control variates (scaffold), whose formula is that of plain SGD; train "
      "with RunOptions::optimizer.name=sgd and RunOptions::optimizer.momentum=0");
}

absl::StatusOr<TrainedRound> TrainRound(const RoundTraining& training, const RoundTask& task,
                                        const Loaders& loaders, std::span<const float> control) {
  if (task.by_steps) {
    const int64_t steps = StepsOfRound(training.options, loaders.training->steps());
    DTNN_RETURN_IF_ERROR(CheckCountOfSteps(training.optimizer, steps));
  }
  if (!task.control.empty()) {
    DTNN_RETURN_IF_ERROR(CheckControlled(training.optimizer));
    if (task.control.size() != control.size() ||
        int64_t(control.size()) != training.store.slots().back().num_elements()) {
      return InvalidArgument("control variates of ", task.control.size(), " and ", control.size(),
                             " numbers for ", training.store.slots().back().num_elements(),
                             " trainable ones");
    }
  }
  DTNN_RETURN_IF_ERROR(Rewind(training, task, control));
  const Stopwatch watch;
  const absl::Status trained =
      training.trainer.Train(*loaders.training, loaders.validation.get(),
                             training.options.training.epochs, training.callbacks);
  if (training.trainer.diverged()) return TrainedRound{.diverged = std::string(trained.message())};
  DTNN_RETURN_IF_ERROR(trained);
  if (!training.trainer.stopped() && !IsFinite(training.store.unfrozen())) {
    return TrainedRound{.diverged =
                            "parameters or running statistics are infinite or NaN after it: "
                            "training has diverged; lower the learning rate"};
  }
  TrainedRound result = {
      .report = {.samples = loaders.training->samples(), .seconds = watch.seconds()}};
  if (!task.control.empty()) result.change = ChangeOf(training, task);
  std::set<std::string> names;  // of training.metrics that names one twice
  for (const auto& [name, value] : training.metrics.values()) {
    if (std::isfinite(value) && names.insert(name).second) {
      result.report.metrics.emplace_back(name, value);
    }
  }
  return result;
}

}  // namespace dtnn
