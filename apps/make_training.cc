#include "apps/make_training.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"
#include "optim/adam.h"
#include "optim/categorical_accuracy.h"
#include "optim/categorical_cross_entropy.h"
#include "optim/sgd.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Optimizer>> MakeOptimizer(const Options& o) {
  if (o.optimizer == "sgd") {
    return std::make_shared<Sgd>(SgdOptions{.momentum = o.optimizer_momentum,
                                            .nesterov = o.optimizer_nesterov,
                                            .decay = o.optimizer_decay});
  }
  if (o.optimizer == "adam") {
    return std::make_shared<Adam>(AdamOptions{.beta1 = o.optimizer_beta1,
                                              .beta2 = o.optimizer_beta2,
                                              .epsilon = o.optimizer_epsilon,
                                              .decay = o.optimizer_decay});
  }
  return UsageError(absl::StrCat("--optimizer: there is no optimizer ", o.optimizer));
}

absl::StatusOr<Figures> MakeFigures(const Options& options) {
  Figures figures;
  if (options.loss_func == "categorical_cross_entropy") {
    figures.loss = std::make_shared<CategoricalCrossEntropy>();
  } else {
    return UsageError(absl::StrCat("--loss-func: there is no loss ", options.loss_func));
  }
  for (const std::string& metric : options.metrics) {
    if (metric != "categorical_accuracy") {
      return UsageError(absl::StrCat("--metrics: there is no metric ", metric));
    }
    figures.metrics.push_back(std::make_shared<CategoricalAccuracy>());
  }
  return figures;
}

}  // namespace dtnn
