#include "models/run/parts/make_training.h"

#include <string>
#include <utility>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "models/run/options/in_force.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/adamw.h"
#include "optim/optimizers/nadam.h"
#include "optim/optimizers/oktopk.h"
#include "optim/optimizers/optimizers.h"
#include "optim/optimizers/rmsprop.h"
#include "optim/optimizers/sgd.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

// A parameter's values over three steps.
std::vector<double> Path(const Optimizer& optimizer) {
  auto device = *DeviceContext::Create(Device::Cpu());
  auto update = *optimizer.Bind(*device, DType::kFloat64, {});
  const Tensor w = TensorOf(DType::kFloat64, Shape{1}, {1});
  std::vector<Tensor> slots(size_t(optimizer.slots()), Tensor());
  for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{1});
  std::vector<double> path;
  for (double gradient : {0.5, -0.25, 0.125}) {
    const Tensor g = TensorOf(DType::kFloat64, Shape{1}, {gradient});
    const UpdateStep step = {.learning_rate = 0.01, .step = int64_t(path.size()) + 1};
    EXPECT_TRUE(update->Run(w, g, slots, step).ok());
    path.push_back(Values(w)[0]);
  }
  return path;
}

TEST(MakeTrainingTest, OptionsReachTheOptimizer) {
  RunOptions options;
  options.optimizer.beta1 = 0.7;
  options.optimizer.beta2 = 0.8;
  options.optimizer.epsilon = 0.1;
  options.optimizer.decay = 0.2;
  options.optimizer.momentum = 0.6;
  options.optimizer.nesterov = true;
  options.optimizer.name = "adam";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Adam({.beta1 = 0.7, .beta2 = 0.8, .epsilon = 0.1, .decay = 0.2})));
  options.optimizer.name = "sgd";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Sgd({.momentum = 0.6, .nesterov = true, .decay = 0.2})));
  options.optimizer.name = "oktopk";
  options.optimizer.density = 0.5;
  options.optimizer.tau = 7;
  options.optimizer.tau_prime = 5;
  EXPECT_EQ((*MakeOptimizer(options))->constants(), Oktopk({.momentum = 0.6,
                                                            .nesterov = true,
                                                            .decay = 0.2,
                                                            .density = 0.5,
                                                            .tau = 7,
                                                            .tau_prime = 5})
                                                        .constants());
  options.optimizer.average_decay = 0.25;
  EXPECT_EQ((*MakeOptimizer(options))->constants().at("average decay"), 0.25);
  options.optimizer.average_decay = 0;
  EXPECT_FALSE((*MakeOptimizer(options))->constants().contains("average decay"));
  options.optimizer.name = "nadam";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Nadam({.beta1 = 0.7, .beta2 = 0.8, .epsilon = 0.1, .decay = 0.2})));
  options.optimizer.name = "adamw";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Adamw({.beta1 = 0.7, .beta2 = 0.8, .epsilon = 0.1, .decay = 0.2})));
  options.optimizer.rho = 0.3;
  options.optimizer.name = "rmsprop";
  EXPECT_EQ(Path(**MakeOptimizer(options)),
            Path(Rmsprop({.rho = 0.3, .epsilon = 0.1, .decay = 0.2})));
}

// What ConstantsFrom reads becomes options, of which an optimizer is made again.
TEST(MakeTrainingTest, ConstantsBecomeTheOptionsOfTheirNames) {
  OptimizerOptions options;
  SetConstants({.momentum = 0.11,
                .beta1 = 0.22,
                .beta2 = 0.33,
                .rho = 0.44,
                .epsilon = 0.55,
                .decay = 0.66,
                .average_decay = 0.77,
                .density = 0.88,
                .tau = 9,
                .tau_prime = 10,
                .nesterov = true,
                .decay_vectors = false},
               options);
  EXPECT_EQ(options, (OptimizerOptions{.momentum = 0.11,
                                       .decay = 0.66,
                                       .decay_all = false,
                                       .nesterov = true,
                                       .beta1 = 0.22,
                                       .beta2 = 0.33,
                                       .epsilon = 0.55,
                                       .rho = 0.44,
                                       .tau = 9,
                                       .tau_prime = 10,
                                       .density = 0.88,
                                       .average_decay = 0.77}));
  SetConstants({.nesterov = false, .decay_vectors = true}, options);
  EXPECT_EQ(options, (OptimizerOptions{.decay_all = true, .nesterov = false}));
}

// The second of two values is a bias; without gradients only the decay moves values.
TEST(MakeTrainingTest, DecayOfAllOrOfWeightsOnly) {
  auto device = *DeviceContext::Create(Device::Cpu());
  const ArenaRange bias[] = {{.begin = 1, .end = 2}};
  RunOptions options;
  options.optimizer.decay = 0.5;
  for (const std::string_view name : OptimizerNames()) {
    options.optimizer.name = name;
    for (const bool all : {true, false}) {
      options.optimizer.decay_all = all;
      const auto optimizer = *MakeOptimizer(options);
      auto update = *optimizer->Bind(*device, DType::kFloat64, bias);
      const Tensor w = TensorOf(DType::kFloat64, Shape{2}, {1, 1});
      const Tensor zero = ZeroTensor(DType::kFloat64, Shape{2});
      std::vector<Tensor> slots(size_t(optimizer->slots()), Tensor());
      for (Tensor& slot : slots) slot = ZeroTensor(DType::kFloat64, Shape{2});
      ASSERT_TRUE(update->Run(w, zero, slots, {.learning_rate = 0.5, .step = 1}).ok());
      EXPECT_EQ(Values(w), (std::vector<double>{0.75, all ? 0.75 : 1})) << name;
    }
  }
}

TEST(MakeTrainingTest, ConstantsFollowTheOptimizerUnlessTheyAreSet) {
  RunOptions options = {.optimizer = {.name = "adamw", .beta2 = 0.5}};
  auto constants = (*MakeOptimizer(options))->constants();
  EXPECT_EQ(constants.at("decay"), 0.01);
  EXPECT_EQ(constants.at("beta2"), 0.5);
  options.optimizer.decay = 0;
  EXPECT_EQ((*MakeOptimizer(options))->constants().at("decay"), 0) << "as it is set";
}

TEST(MakeTrainingTest, EveryDocumentedLossOptimizerAndMetricIsMade) {
  RunOptions options;
  for (const std::string_view name : OptimizerNames()) {
    options.optimizer.name = name;
    ASSERT_TRUE(MakeOptimizer(options).ok()) << name;
    EXPECT_EQ((*MakeOptimizer(options))->name(), name);
  }
  const std::vector<std::string_view> names = MetricNames();
  options.training.metrics = std::vector<std::string>(names.begin(), names.end());
  for (const char* loss : {"categorical_cross_entropy", "binary_cross_entropy", "mse", "mae"}) {
    options.training.loss = loss;
    const absl::StatusOr<MetricSet> metric_set = MakeMetricSet(options);
    ASSERT_TRUE(metric_set.ok()) << metric_set.status();
    EXPECT_EQ(metric_set->loss->name(), loss);
    ASSERT_EQ(metric_set->metrics.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(metric_set->metrics[i]->name(), names[i]);
    }
  }
}

// Two labels per sample that do not exclude each other.
class MultiLabelDataset : public dtnn::testing::CountingDataset {
 public:
  MultiLabelDataset() : CountingDataset(2) {}
  TargetKind target_kind() const override { return TargetKind::kValues; }
};

class PixelDataset : public dtnn::testing::CountingDataset {
 public:
  PixelDataset() : CountingDataset(2) {}
  TargetKind target_kind() const override { return TargetKind::kPixels; }
};

TEST(MakeTrainingTest, PixelsHaveTheirMetricsAndTheirLoss) {
  const PixelDataset pixels;
  RunOptions options;
  FollowTargets(pixels, options);
  EXPECT_EQ(MetricsOf(options), (std::vector<std::string>{"categorical_accuracy", "mean_iou"}));
  EXPECT_TRUE(CheckMetrics(*MakeMetricSet(options), pixels).ok());
  options.training.loss = "mse";
  EXPECT_EQ(CheckMetrics(*MakeMetricSet(options), pixels).message(),
            "RunOptions::training.loss: mse does not fit data set counting, whose targets are "
            "classes of pixels; categorical_cross_entropy is for these");
}

TEST(MakeTrainingTest, LabelSmoothingReachesTheLoss) {
  RunOptions options = {.training = {.loss = "categorical_cross_entropy", .label_smoothing = 1}};
  const auto device = *DeviceContext::Create(Device::Cpu());
  const LossContext context = {.device = device.get(), .batch = 1, .outputs = 2};
  EXPECT_FALSE(MakeMetricSet(options)->loss->Bind(context).ok()) << "a whole label is too much";
  options.training.label_smoothing = 0.5;
  EXPECT_TRUE(MakeMetricSet(options)->loss->Bind(context).ok());
}

TEST(MakeTrainingTest, MetricsThatAreSetStay) {
  const MultiLabelDataset values;
  RunOptions options = {.training = {.loss = "mse", .metrics = {"regression_mse"}}};
  FollowTargets(values, options);
  EXPECT_EQ(MetricsOf(options), std::vector<std::string>{"regression_mse"});
}

TEST(MakeTrainingTest, MetricsMustFitTheTargets) {
  const dtnn::testing::CountingDataset classes(2);
  const MultiLabelDataset values;
  RunOptions options;
  EXPECT_TRUE(CheckMetrics(*MakeMetricSet(options), classes).ok());
  const absl::Status loss = CheckMetrics(*MakeMetricSet(options), values);
  EXPECT_EQ(ExitCodeOf(loss), kExitUsage);
  EXPECT_EQ(loss.message(),
            "RunOptions::training.loss: categorical_cross_entropy does not fit data set counting, "
            "whose targets "
            "are values, several labels or quantities per sample; binary_cross_entropy is for "
            "labels that are 0 or 1, mse and mae are for quantities, and class labels must be "
            "integers");
  options.training.loss = "binary_cross_entropy";
  const absl::Status metric = CheckMetrics(*MakeMetricSet(options), values);
  EXPECT_EQ(std::string(metric.message()).substr(0, 60),
            "RunOptions::training.metrics: categorical_accuracy does not ");
  options.training.metrics = {"f1_score", "regression_mse"};
  EXPECT_TRUE(CheckMetrics(*MakeMetricSet(options), values).ok());
}

TEST(MakeTrainingTest, MetricsFollowTargetsAndLossUnlessAskedFor) {
  const dtnn::testing::CountingDataset classes(2);
  const MultiLabelDataset values;
  using Names = std::vector<std::string>;
  const std::pair<std::string, Names> cases[] = {
      {"binary_cross_entropy", {"binary_accuracy", "f1_score"}},
      {"mse", {"regression_mae"}},
      {"mae", {"regression_mse"}}};
  for (const auto& [loss, metrics] : cases) {
    RunOptions options;
    options.training.loss = loss;
    FollowTargets(classes, options);
    EXPECT_EQ(MetricsOf(options), Names{"categorical_accuracy"}) << loss;
    EXPECT_TRUE(CheckMetrics(*MakeMetricSet(options), classes).ok());
    FollowTargets(values, options);
    EXPECT_EQ(MetricsOf(options), metrics) << loss;
    EXPECT_TRUE(CheckMetrics(*MakeMetricSet(options), values).ok());
    options.training.metrics = {"recall"};
    FollowTargets(values, options);
    EXPECT_EQ(MetricsOf(options), Names{"recall"}) << loss;
  }
}

}  // namespace
}  // namespace dtnn
