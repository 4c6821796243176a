#include <string_view>

#include "comm/ranks/job/exit_code.h"
#include "models/run/checks/check_together.h"
#include "models/run/options/option_text.h"
#include "models/training/privacy/private_gradients.h"

namespace dtnn {

absl::Status CheckPrivacy(const RunOptions& options) {
  const TrainingOptions& training = options.training;
  if (training.dp_sgd_clip == 0 && training.dp_sgd_noise == 0) return absl::OkStatus();
  if (training.dp_sgd_noise == 0) {
    return UsageError("RunOptions::training.dp_sgd_clip=", ToText(training.dp_sgd_clip),
                      ": clipping alone protects nothing; add RunOptions::training.dp_sgd_noise");
  }
  if (training.dp_sgd_clip == 0) {
    return UsageError("RunOptions::training.dp_sgd_noise=", ToText(training.dp_sgd_noise),
                      ": noise protects gradients whose length is bounded; add "
                      "RunOptions::training.dp_sgd_clip");
  }
  const absl::Status numbers = PrivateGradients::CheckNumbers({.clip = training.dp_sgd_clip,
                                                               .noise = training.dp_sgd_noise,
                                                               .delta = training.dp_sgd_delta});
  if (!numbers.ok()) {
    return UsageError(
        "RunOptions::training.dp_sgd_clip, RunOptions::training.dp_sgd_noise, "
        "RunOptions::training.dp_sgd_delta: ",
        numbers.message());
  }
  struct Excluded {
    bool given;
    std::string_view member, why;
  };
  const Excluded excluded[] = {
      {options.ranks.parallel == Parallel::kData, "ranks.parallel=data",
       "gradients that ranks send each other would have no noise yet"},
      {options.ranks.parallel == Parallel::kFederated, "ranks.parallel=federated",
       "RunOptions::federation.dp_clip protects all samples of a client together"},
      {options.device.gpu, "device.gpu", "gradients of single samples are clipped on CPUs"},
      {options.data.augment.mixup > 0, "data.augment.mixup", "its samples are made of two each"},
      {!options.data.shuffle, "data.shuffle=False", "batches are drawn, and have no order"},
      {options.data.share > 1, "data.share", "a sample that is there twice would count twice"},
      {options.data.standardize.value_or(false), "data.standardize",
       "mean and deviation of the samples have no noise; give numbers that are known without them "
       "as RunOptions::data.normalize"},
      {training.class_weights == "balanced", "training.class_weights=balanced",
       "numbers of samples of the classes have no noise; give the weights"},
      {options.optimizer.find_learning_rate, "optimizer.find_learning_rate",
       "the steps of its test have no noise"},
      {training.accumulate_steps > 1, "training.accumulate_steps",
       "each batch is an update; a larger batch takes no more memory for activations"},
  };
  for (const auto& [given, member, why] : excluded) {
    if (!given) continue;
    return UsageError("RunOptions::training.dp_sgd_clip and RunOptions::", member,
                      ": cannot be used together; ", why);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
