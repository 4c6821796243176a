#include "apps/assemble.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/mnist.h"
#include "data/split.h"
#include "data/synthetic.h"
#include "optim/adam.h"
#include "optim/categorical_accuracy.h"
#include "optim/categorical_cross_entropy.h"
#include "optim/sgd.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::shared_ptr<const Dataset>> MakeDataset(const Options& options) {
  if (options.dataset == "synthetic") {
    const std::vector<int64_t>& input = options.synthetic_input_shape;
    const std::vector<int64_t>& output = options.synthetic_output_shape;
    if (input.size() != 3 || output.size() != 1) {
      return absl::InvalidArgumentError(
          "--synthetic-input-shape takes three numbers (channels,height,width) and "
          "--synthetic-output-shape one (classes)");
    }
    return MakeSynthetic({.train_samples = options.synthetic_train_samples,
                          .test_samples = options.synthetic_test_samples,
                          .sample = {.height = input[1], .width = input[2], .channels = input[0]},
                          .classes = output[0],
                          .seed = uint64_t(options.random_seed)});
  }
  const bool trains = !options.evaluate_only;
  const bool tests = options.evaluate || options.evaluate_only || options.test_as_validation;
  return LoadMnist(
      {.train = trains ? TrainPath(options) : "", .test = tests ? TestPath(options) : ""});
}

std::shared_ptr<const Optimizer> MakeOptimizer(const Options& options) {
  if (options.optimizer == "adam") {
    return std::make_shared<Adam>(AdamOptions{.beta1 = options.optimizer_beta1,
                                              .beta2 = options.optimizer_beta2,
                                              .epsilon = options.optimizer_epsilon,
                                              .decay = options.optimizer_decay});
  }
  return std::make_shared<Sgd>(SgdOptions{.momentum = options.optimizer_momentum,
                                          .nesterov = options.optimizer_nesterov,
                                          .decay = options.optimizer_decay});
}

Figures MakeFigures(const Options& options) {
  Figures figures{std::make_shared<CategoricalCrossEntropy>(), {}};
  for (size_t i = 0; i < options.metrics.size(); ++i) {
    figures.metrics.push_back(std::make_shared<CategoricalAccuracy>());
  }
  return figures;
}

absl::StatusOr<Loaders> MakeLoaders(const Options& options,
                                    std::shared_ptr<const Dataset> dataset) {
  DTNN_ASSIGN_OR_RETURN(const int64_t batch, BatchSizePerRank(options));
  const uint64_t seed = uint64_t(options.random_seed);
  LoaderOptions training{.batch = batch,
                         .shuffle = options.augment_shuffle,
                         .seed = seed,
                         .steps_per_epoch = int64_t(std::ceil(options.steps_per_epoch)),
                         .format = FormatOf(options),
                         .dtype = ElementTypeOf(options)};
  LoaderOptions evaluation = training;
  evaluation.shuffle = false;
  evaluation.steps_per_epoch = 0;
  Loaders loaders;
  if (!options.evaluate_only) {
    const double held_out = options.test_as_validation ? 0 : options.validation_split;
    DTNN_ASSIGN_OR_RETURN(Split split, SplitIndices(dataset->size(Part::kTrain), held_out, seed));
    if (split.train.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("data set ", std::string(dataset->name()), " has no samples to train on"));
    }
    DTNN_ASSIGN_OR_RETURN(loaders.training,
                          Loader::Create(dataset, Part::kTrain, std::move(split.train), training));
    if (!split.validation.empty()) {
      DTNN_ASSIGN_OR_RETURN(
          loaders.validation,
          Loader::Create(dataset, Part::kTrain, std::move(split.validation), evaluation));
    } else if (options.test_as_validation) {
      DTNN_ASSIGN_OR_RETURN(
          loaders.validation,
          Loader::Create(dataset, Part::kTest, AllIndices(dataset->size(Part::kTest)), evaluation));
    }
  }
  if (options.evaluate || options.evaluate_only) {
    DTNN_ASSIGN_OR_RETURN(
        loaders.test,
        Loader::Create(dataset, Part::kTest, AllIndices(dataset->size(Part::kTest)), evaluation));
  }
  return loaders;
}

}  // namespace dtnn
