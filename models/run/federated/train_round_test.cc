#include "models/run/federated/train_round.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "comm/federation/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/callbacks/last_metrics.h"
#include "models/testing/training_session.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"

namespace dtnn {
namespace {

TEST(StepsOfRoundTest, AreThoseOfAllEpochs) {
  RunOptions options;
  options.training.epochs = 3;
  EXPECT_EQ(StepsOfRound(options, 7), 21);
  options.training.accumulate_steps = 4;
  EXPECT_EQ(StepsOfRound(options, 7), 6);
  options.training.epochs = 0;
  EXPECT_EQ(StepsOfRound(options, 7), 1) << "as few as one can say";
  options.training.accumulate_steps = 1;
  options.training.epochs = 1'000'000'000;
  EXPECT_EQ(StepsOfRound(options, 1), 1'000'000'000);
  EXPECT_EQ(StepsOfRound(options, 2), federation::kMostSteps) << "as many as one can say";
  EXPECT_EQ(StepsOfRound(options, int64_t{1} << 40), federation::kMostSteps);
}

TEST(CheckCountOfStepsTest, StepsOfPlainSgdCanBeCounted) {
  EXPECT_EQ(CheckCountOfSteps(Sgd({.momentum = 0}), 1'000'000'000), absl::OkStatus());
  EXPECT_EQ(CheckCountOfSteps(Sgd({.momentum = 0}), federation::kMostSteps).message(),
            "the aggregator weighs updates by their number (fednova), and 1073741824 or more in a "
            "round are too many; train with a smaller RunOptions::training.epochs");
  constexpr char kPlainOnly[] =
      "the aggregator weighs updates by their number (fednova), which is right for plain SGD "
      "alone; train with RunOptions::optimizer.name=sgd and RunOptions::optimizer.momentum=0";
  EXPECT_EQ(CheckCountOfSteps(Sgd({.momentum = 0.9})).message(), kPlainOnly);
  EXPECT_EQ(CheckCountOfSteps(Adam()).message(), kPlainOnly);
}

// After the last batch the loss is finite, but a parameter is not; or the run was stopped too.
class Breaks : public Callback {
 public:
  explicit Breaks(ParameterStore& store) : store_(&store) {}
  absl::Status OnEpochEnd(const Pass& pass, const Pass* /*validation*/) override {
    if (breaks) {
      store_->unfrozen().data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    }
    if (stops) pass.trainer->Stop();
    return absl::OkStatus();
  }

  bool breaks = false, stops = false;

 private:
  ParameterStore* const store_;
};

TEST(TrainRoundTest, AModelThatIsNotFiniteHasDivergedUnlessItsTrainingWasStopped) {
  const auto optimizer = std::make_shared<ProximalOptimizer>(std::make_shared<Sgd>());
  testing::SessionOptions session_options;
  session_options.training.optimizer = optimizer;
  session_options.validation_split = 0;
  testing::TrainingSession session(testing::PatternMlp(), session_options);
  ASSERT_EQ(session.trainer->PrepareForTraining(session.training->max_batch()), absl::OkStatus());
  const std::vector<float> initial = {
      session.store->unfrozen().data<float>(),
      session.store->unfrozen().data<float>() + session.store->unfrozen().num_elements()};
  Loaders loaders;
  loaders.training = std::move(session.training);
  RunOptions options;
  options.training.epochs = 1;
  options.training.seed = int64_t(session_options.training.random_seed);
  LastMetrics metrics;
  Breaks breaks(*session.store);
  const std::vector<Callback*> callbacks = {&metrics, &breaks};
  const RoundTraining training = {options,    *session.store, *session.trainer,
                                  *optimizer, metrics,        callbacks};
  for (const auto& [broken, stopped] : {std::pair(false, false), {true, false}, {true, true}}) {
    SCOPED_TRACE(stopped);
    breaks.breaks = broken, breaks.stops = stopped;
    std::ranges::copy(initial, session.store->unfrozen().data<float>());
    session.store->MarkChanged();
    const auto round = TrainRound(training, {.round = 1, .rounds = 2}, loaders);
    ASSERT_EQ(round.status(), absl::OkStatus());
    EXPECT_EQ(session.trainer->stopped(), stopped);
    if (broken && !stopped) {
      EXPECT_EQ(round->diverged,
                "parameters or running statistics are infinite or NaN after it: training has "
                "diverged; lower the learning rate");
      EXPECT_EQ(round->report.samples, 0);
    } else {
      EXPECT_EQ(round->diverged, "");
      EXPECT_EQ(round->report.samples, 60);
      EXPECT_THAT(round->report.metrics, ::testing::SizeIs(2));
    }
  }
}

}  // namespace
}  // namespace dtnn
