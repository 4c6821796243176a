#include "models/run/federated/train_round.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
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

// With one step in a round, what control variates add to the gradient can be seen from the
// parameters, and the gradient that the client's next one holds too.
TEST(TrainRoundTest, ControlVariatesCorrectEveryStep) {
  constexpr double kRate = 0.25;
  const auto optimizer =
      std::make_shared<ProximalOptimizer>(std::make_shared<Sgd>(SgdOptions{.momentum = 0}));
  testing::SessionOptions session_options;
  session_options.training.optimizer = optimizer;
  session_options.validation_split = 0;
  session_options.loading.batch = 60;
  testing::TrainingSession session(testing::PatternMlp(), session_options);
  ASSERT_EQ(session.trainer->PrepareForTraining(session.training->max_batch()), absl::OkStatus());
  const auto numbers = [&] {
    const Tensor all = session.store->unfrozen();
    return std::vector<float>(all.data<float>(), all.data<float>() + all.num_elements());
  };
  const std::vector<float> initial = numbers();
  const auto size = size_t(session.store->slots().back().num_elements());
  Loaders loaders;
  loaders.training = std::move(session.training);
  RunOptions options;
  options.training.seed = int64_t(session_options.training.random_seed);
  options.optimizer.learning_rate = kRate;
  LastMetrics metrics;
  const std::vector<Callback*> callbacks = {&metrics};
  const RoundTraining training = {options,    *session.store, *session.trainer,
                                  *optimizer, metrics,        callbacks};
  const auto train = [&](int64_t epochs, const std::vector<float>& control,
                         const std::vector<float>& own) {
    options.training.epochs = epochs;
    std::ranges::copy(initial, session.store->unfrozen().data<float>());
    session.store->MarkChanged();
    auto round =
        TrainRound(training, {.round = 1, .rounds = 2, .parameters = initial, .control = control},
                   loaders, own);
    EXPECT_EQ(round.status(), absl::OkStatus());
    return *std::move(round);
  };
  std::vector<float> c(size), own(size);
  for (size_t i = 0; i < size; ++i) {
    c[i] = 0.01f * float(i % 7);
    own[i] = 0.02f * float(i % 5);
  }
  ASSERT_EQ(loaders.training->steps(), 1);
  constexpr double steps = 1;
  EXPECT_TRUE(train(1, {}, {}).change.empty());
  const std::vector<float> without = numbers();
  const TrainedRound same = train(1, own, own);
  EXPECT_EQ(numbers(), without) << "equal control variates add nothing";
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(same.change[i], (initial[i] - without[i]) / (steps * kRate) - own[i], 1e-5) << i;
  }
  const TrainedRound round = train(1, c, own);
  const std::vector<float> with = numbers();
  double moved = 0;
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(round.change[i], (initial[i] - with[i]) / (steps * kRate) - c[i], 1e-5) << i;
    ASSERT_NEAR(with[i], without[i] - kRate * (c[i] - own[i]), 1e-6) << i;
    moved += std::abs(with[i] - without[i]);
  }
  EXPECT_GT(moved, 0.1);
  train(2, c, own);
  const double rates = 2 * steps * kRate;
  EXPECT_NEAR(optimizer->rates(), rates, 1e-9) << "of all steps";
}

TEST(CheckControlledTest, ControlVariatesAreForPlainSgd) {
  EXPECT_EQ(CheckControlled(Sgd({.momentum = 0})), absl::OkStatus());
  EXPECT_EQ(CheckControlled(Adam()).message(),
            "the aggregator has control variates (scaffold), whose formula is that of plain SGD; "
            "train with RunOptions::optimizer.name=sgd and RunOptions::optimizer.momentum=0");
}

// After the last batch the loss is finite, but a parameter is not; or the run was stopped too.
class Breaks : public Callback {
 public:
  explicit Breaks(ParameterStore& store) : store_(&store) {}
  absl::Status OnEpochEnd(const Pass& pass, const Pass* /*validation*/) override {
    if (breaks) store_->unfrozen().data<float>()[3] = odd;
    if (stops) pass.trainer->Stop();
    return absl::OkStatus();
  }

  bool breaks = false, stops = false;
  float odd = std::numeric_limits<float>::quiet_NaN();

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
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(),
                  kInfinite = std::numeric_limits<float>::infinity();
  for (const auto& [broken, stopped, odd] : {std::tuple(false, false, kNaN),
                                             {true, false, kNaN},
                                             {true, false, -kInfinite},
                                             {true, true, kNaN}}) {
    SCOPED_TRACE(stopped);
    breaks.breaks = broken, breaks.stops = stopped, breaks.odd = odd;
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
