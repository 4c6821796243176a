#include <algorithm>
#include <cmath>
#include <vector>

#include "models/training/step/step_engine.h"
#include "tensor/errors.h"

namespace dtnn {

// With differential privacy for each sample. A batch without samples is a step like others, and a
// loss that is not finite ends nothing: that would tell of a single sample.
absl::Status StepEngine::RunPrivateStep(const Batch& batch) {
  if (private_ == nullptr || sampling_.probability == 0) {
    return absl::FailedPreconditionError(
        "differential privacy of samples: StepEngine::Step was called before PrepareForTraining "
        "has succeeded, or before SetSampling");
  }
  DTNN_RETURN_IF_ERROR(updater_->Begin(store_->gradients(), sync_.exchanges()));
  DTNN_RETURN_IF_ERROR(
      updater_->SetStep({.learning_rate = learning_rate_, .step = steps_done_ + 1}));
  DTNN_RETURN_IF_ERROR(private_->Run(batch, sampling_.mean));
  spent_.Add(sampling_.probability, options_.privacy.noise);
  DTNN_RETURN_IF_ERROR(updater_->Finish());
  ++steps_done_;
  return absl::OkStatus();
}

absl::Status StepEngine::SetSampling(double probability, double mean) {
  if (!(probability > 0 && probability <= 1) || !(mean > 0 && std::isfinite(mean))) {
    return InvalidArgument("steps that take a sample with probability ", probability, ", and ",
                           mean,
                           " samples on average: expected a probability above 0 and up to 1, and a "
                           "mean above 0");
  }
  sampling_ = {probability, mean};
  return absl::OkStatus();
}

bool StepEngine::RestorePrivacySpent(const std::vector<double>& spent) {
  federation::RenyiAccountant accountant;
  if (!std::ranges::all_of(spent, [](double x) { return x >= 0; })) return false;
  if (!spent.empty() && !accountant.Restore(spent)) return false;
  spent_ = accountant;
  return true;
}

std::optional<double> StepEngine::epsilon() const {
  return options_.privacy.enabled() ? std::optional(spent_.Epsilon(options_.privacy.delta))
                                    : std::nullopt;
}

}  // namespace dtnn
