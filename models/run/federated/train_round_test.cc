#include "models/run/federated/train_round.h"

#include "comm/federation/messages.h"
#include "gtest/gtest.h"
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

}  // namespace
}  // namespace dtnn
