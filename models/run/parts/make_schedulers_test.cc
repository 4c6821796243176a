#include "models/run/parts/make_schedulers.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/metrics.h"
#include "optim/schedulers/testing/recording_host.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RecordingHost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

MetricSet WithMetrics(const std::vector<std::string>& names) {
  MetricSet metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}};
  for (const std::string& name : names) metric_set.metrics.push_back(*MakeMetric(name));
  return metric_set;
}

std::shared_ptr<Scheduler> Only(const RunOptions& options, const MetricSet& metric_set,
                                int64_t ranks = 1) {
  const auto made = MakeSchedulers(options, metric_set, /*has_validation=*/true, ranks);
  EXPECT_TRUE(made.ok()) << made.status();
  return made->at(0);
}

// The epochs whose parameters model_checkpoint saves.
std::vector<int64_t> Saved(const std::string& metric, const std::vector<double>& values) {
  RunOptions options;
  options.schedule.schedulers = {"model_checkpoint"};
  options.schedule.model_folder = "x";
  options.schedule.keep_best.metric = "val_" + metric;
  options.schedule.keep_best.every_epochs = 1;
  const auto scheduler = Only(options, WithMetrics({metric}));
  RecordingHost host;
  for (const double value : values) {
    EXPECT_EQ(host.EndEpoch(*scheduler, value), absl::OkStatus());
  }
  return host.saved;
}

TEST(MakeSchedulersTest, TheBestModelIsTheBestOfItsMetric) {
  for (const char* metric : {"per_class_report", "binary_confusion_matrix", "f1_score"}) {
    EXPECT_THAT(Saved(metric, {0.5, 0.9, 0.7}), ElementsAre(1, 2)) << metric;
  }
  EXPECT_THAT(Saved("categorical_hinge", {0.5, 0.9, 0.4}), ElementsAre(1, 3));
}

TEST(MakeSchedulersTest, PlateausAndThresholdsFollowTheMetricToo) {
  RunOptions options;
  options.schedule.schedulers = {"reduce_lr_on_plateau"};
  options.schedule.reduce_on_plateau.metric = "per_class_report";
  options.schedule.reduce_on_plateau.patience = 1;
  RecordingHost rising;
  const auto plateau = Only(options, WithMetrics({"per_class_report"}));
  for (const double value : {0.1, 0.2, 0.3}) {
    ASSERT_EQ(rising.EndEpoch(*plateau, value), absl::OkStatus());
  }
  EXPECT_EQ(rising.rate, 0.1);

  options.schedule.schedulers = {"stop_at_loss"};
  options.schedule.stop_at.metric = "per_class_report";
  options.schedule.stop_at.threshold = 0.5;
  RecordingHost stopping;
  const auto threshold = Only(options, WithMetrics({"per_class_report"}));
  ASSERT_EQ(stopping.EndEpoch(*threshold, 0.4), absl::OkStatus());
  EXPECT_FALSE(stopping.stopped);
  ASSERT_EQ(stopping.EndEpoch(*threshold, 0.6), absl::OkStatus());
  EXPECT_TRUE(stopping.stopped);
}

TEST(MakeSchedulersTest, CosineEndsAtItsRateOnAnyNumberOfRanks) {
  RunOptions options;
  options.schedule.schedulers = {"cosine"};
  options.optimizer.learning_rate = 0.1;
  options.schedule.cosine.min_rate = 0.05;
  for (const RateScaling scaling :
       {RateScaling::kNone, RateScaling::kDivide, RateScaling::kMultiply}) {
    options.optimizer.learning_rate_scaling = scaling;
    for (const int64_t ranks : {1, 2, 4}) {
      const double rate = InitialLearningRate(options, ranks);
      const auto cosine = Only(options, WithMetrics({}), ranks);
      EXPECT_NEAR(rate * cosine->Factor({.step = 10, .total_steps = 10}), std::min(0.05, rate),
                  1e-15)
          << WordFor(scaling) << " " << ranks;
    }
  }
}

TEST(MakeSchedulersTest, ConstantsArrive) {
  RunOptions options;
  options.optimizer.learning_rate = 0.1;
  options.schedule.schedulers = {"cosine"};
  options.schedule.cosine = {.min_rate = 0.05, .restart_epochs = 1, .restart_growth = 3};
  auto scheduler = Only(options, WithMetrics({}));
  // Cycles of 2 and 6 steps.
  for (const int64_t step : {0, 2, 8}) EXPECT_EQ(scheduler->Factor({step, 2, 100}), 1) << step;
  EXPECT_NEAR(scheduler->Factor({5, 2, 100}), 0.75, 1e-15);
  options.schedule.schedulers = {"polynomial"};
  options.schedule.polynomial = {.power = 2, .min_rate = 0.05};
  scheduler = Only(options, WithMetrics({}));
  EXPECT_NEAR(scheduler->Factor({50, 2, 100}), 0.5 + 0.5 * 0.25, 1e-15);
  options.schedule.schedulers = {"early_stopping"};
  options.schedule.early_stopping.patience = 1;
  options.schedule.early_stopping.min_delta = 0.2;
  scheduler = Only(options, WithMetrics({}));
  RecordingHost host;
  for (const double value : {1.0, 0.7}) ASSERT_TRUE(host.EndEpoch(*scheduler, value).ok());
  EXPECT_FALSE(host.stopped);
  ASSERT_TRUE(host.EndEpoch(*scheduler, 0.6).ok());
  EXPECT_TRUE(host.stopped);
}

TEST(MakeSchedulersTest, MinimumsAboveTheRateAreToldOf) {
  RunOptions options;
  options.optimizer.learning_rate = 0.1;
  options.schedule.cosine.min_rate = 0.2;
  options.schedule.reduce_on_plateau.min_rate = 0.3;
  EXPECT_THAT(DescribeMinimums(options, 1),
              ElementsAre("RunOptions::schedule.reduce_on_plateau.min_rate=0.3: is above the "
                          "learning rate, 0.1, so "
                          "the rate is never reduced"));
  options.schedule.schedulers = {"cosine"};
  EXPECT_THAT(DescribeMinimums(options, 1),
              ElementsAre("RunOptions::schedule.cosine.min_rate=0.2: is above the learning rate, "
                          "0.1, so the rate stays "
                          "as it is"));
  options.schedule.schedulers = {"polynomial"};
  options.schedule.polynomial.min_rate = 0.2;
  EXPECT_THAT(DescribeMinimums(options, 1),
              ElementsAre("RunOptions::schedule.polynomial.min_rate=0.2: is above the learning "
                          "rate, 0.1, so the rate stays as it is"));
  options.optimizer.learning_rate_scaling = RateScaling::kMultiply;
  EXPECT_THAT(DescribeMinimums(options, 2), IsEmpty());
}

}  // namespace
}  // namespace dtnn
