#include "models/training/rates/learning_rate_range.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::testing::HasSubstr;
using Point = LearningRateRange::Point;

SessionOptions Plain() {
  SessionOptions options{.dtype = DType::kFloat64, .validation_split = 0};
  options.training.optimizer = std::make_shared<Sgd>();
  return options;
}

// An engine for the parameters of a session.
absl::StatusOr<LearningRateRange> Find(TrainingSession& session, const TrainerOptions& options) {
  const auto engine = *StepEngine::Create(PatternMlp(), *session.store, *session.device, options);
  return FindLearningRate(*engine, *session.training);
}

std::vector<double> Losses(const LearningRateRange& range) {
  std::vector<double> losses;
  for (const Point& point : range.points) losses.push_back(point.loss);
  return losses;
}

TEST(LearningRateRangeTest, SuggestsATenthOfTheRateOfTheLeastLoss) {
  const SessionOptions options = Plain();
  TrainingSession session(PatternMlp(), options);
  const absl::StatusOr<LearningRateRange> range = Find(session, options.training);
  ASSERT_TRUE(range.ok()) << range.status();
  ASSERT_GT(range->points.size(), 30u);
  EXPECT_DOUBLE_EQ(range->points[0].rate, 1e-7);
  for (size_t i = 1; i < range->points.size(); ++i) {
    EXPECT_NEAR(range->points[i].rate / range->points[i - 1].rate, std::pow(1e8, 1 / 99.), 1e-9);
  }
  // Nothing is learnt at first, and the loss of four classes is near log(4).
  EXPECT_NEAR(range->points[10].loss, range->points[20].loss, 0.3);
  const Point least = *std::ranges::min_element(range->points, {}, &Point::loss);
  EXPECT_LT(least.loss, 0.7 * range->points[10].loss);
  EXPECT_NEAR(range->suggestion, least.rate / 10, 0.05 * least.rate / 10);
  EXPECT_EQ(range->suggestion, std::stod(absl::StrFormat("%.1e", range->suggestion)));
  EXPECT_LT(range->points.size(), 100u) << "it diverges before 10";
  // At the suggestion the network learns.
  SessionOptions again = Plain();
  again.training.learning_rate = range->suggestion;
  TrainingSession trained(PatternMlp(), again);
  ASSERT_TRUE(trained.Train(10).ok());
  EXPECT_GT(trained.record.accuracies.back(), 90);
}

// Smoothed losses by their definition, from a loop of one's own.
TEST(LearningRateRangeTest, LossesAreThoseOfStepsWithGrowingRates) {
  for (const int64_t accumulate_steps : {1, 3}) {
    SessionOptions options = Plain();
    options.training.accumulate_steps = accumulate_steps;
    TrainingSession session(PatternMlp(), options), own(PatternMlp(), options);
    const absl::StatusOr<LearningRateRange> range = Find(session, options.training);
    ASSERT_TRUE(range.ok()) << range.status();
    const auto engine =
        *StepEngine::Create(PatternMlp(), *own.store, *own.device, options.training);
    ASSERT_TRUE(engine->PrepareForTraining(own.training->max_batch()).ok());
    double sum = 0, weight = 0;
    std::vector<double> losses;
    for (int64_t epoch = 0; losses.size() < 20; ++epoch) {
      own.training->StartEpoch(epoch);
      MetricAverages averages = engine->NewAverages();
      for (int64_t step = 1; const Batch* batch = *own.training->Next(); ++step) {
        engine->set_learning_rate(1e-7 * std::pow(1e8, double(losses.size()) / 99));
        ASSERT_TRUE(engine->Step(*batch, &averages, step == own.training->steps()).ok());
        if (!engine->settled()) continue;
        sum = 0.9 * sum + 0.1 * averages.Value(0);
        weight = 0.9 * weight + 0.1;
        losses.push_back(sum / weight);
        averages = engine->NewAverages();
      }
    }
    losses.resize(20);
    std::vector<double> found = Losses(*range);
    found.resize(20);
    EXPECT_TRUE(Close(found, losses, 1e-12)) << accumulate_steps;
  }
}

TEST(LearningRateRangeTest, RanksAgree) {
  std::vector<LearningRateRange> ranges(2);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SetNumThreads(1);
    SessionOptions options = Plain();
    options.loading.batch = 4;
    options.loading.rank = communicator.rank();
    options.loading.ranks = communicator.size();
    options.training.communicator = &communicator;
    TrainingSession session(PatternMlp(), options);
    const absl::StatusOr<LearningRateRange> range = Find(session, options.training);
    if (range.ok()) ranges[size_t(communicator.rank())] = *range;
    return range.status();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(ranges[0].suggestion, 0);
  EXPECT_EQ(ranges[0].suggestion, ranges[1].suggestion);
  EXPECT_EQ(Losses(ranges[0]), Losses(ranges[1])) << "to the last bit";
}

TEST(LearningRateRangeTest, ALossThatFallsNowhereIsAnError) {
  SessionOptions options = Plain();
  options.training.clip_norm = 1e-12;       // nothing is learnt at any rate
  options.loading.batch = options.samples;  // and all batches have the same loss
  TrainingSession session(PatternMlp(), options);
  const absl::Status status = Find(session, options.training).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the loss of 100 updates fell at no rate from 1e-07 to 10"));
}

}  // namespace
}  // namespace dtnn
