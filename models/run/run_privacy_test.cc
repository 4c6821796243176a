// A run with differential privacy for each sample.

#include <algorithm>
#include <string>

#include "comm/federation/privacy/renyi.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunPrivacyTest : public RunFixture {
 protected:
  static RunOptions Private(int64_t epochs) {
    RunOptions options = Short(epochs);
    options.training.dp_sgd_clip = 1;
    options.training.dp_sgd_noise = 0.5;
    return options;
  }
  static double EpsilonOf(TrainingRun& run) {
    return run.last_metrics().empty() ? -1 : run.last_metrics().back().second;
  }
};

TEST_F(RunPrivacyTest, LearnsAndWritesItsEpsilon) {
  RunOptions options = Private(6);
  options.training.dp_sgd_noise = 0.05;  // so that it learns, whatever the noise is
  options.output = {.model = In("m.safetensors"), .history = In("h.csv"), .report = In("r.html")};
  const auto run = Begin(options);
  const double before = Must(run->Evaluate())["categorical_cross_entropy"];
  Must(run->Fit());
  EXPECT_LT(Must(run->Evaluate())["categorical_cross_entropy"], before);
  const int64_t steps = run->trainer().steps_done() / 6;
  federation::RenyiAccountant accountant;
  const double share =
      double(*options.training.batch) / double(run->trainer().totals().epoch_samples);
  accountant.Add(share, 0.05, uint64_t(6 * steps));
  EXPECT_EQ(run->last_metrics().back().first, "dp_epsilon");
  EXPECT_NEAR(EpsilonOf(*run) / accountant.Epsilon(1e-5), 1, 1e-9);
  EXPECT_THAT(Read("h.csv"), HasSubstr(",dp_epsilon,test_"));
  EXPECT_THAT(Read("r.html"), HasSubstr("dp epsilon"));
}

TEST_F(RunPrivacyTest, ContinuesTheAccountOfItsCheckpoint) {
  RunOptions options = Private(4);
  const auto whole = Begin(options);
  Must(whole->Fit());
  options.checkpoint.folder = In("c");
  options.checkpoint.resume = Resume::kIfThere;
  options.output.history = In("h.csv");
  options.training.epochs = 2;
  {
    const auto first = Begin(options);
    Must(first->Fit());
    EXPECT_LT(EpsilonOf(*first), EpsilonOf(*whole));
  }
  options.training.epochs = 4;
  {
    const auto resumed = Begin(options);
    EXPECT_EQ(resumed->trainer().epochs_done(), 2);
    Must(resumed->Fit());
    EXPECT_NEAR(EpsilonOf(*resumed), EpsilonOf(*whole), 1e-9);
  }
  EXPECT_EQ(std::ranges::count(Read("h.csv"), '\n'), 5);

  options.training.epochs = 6;
  options.training.dp_sgd_clip = options.training.dp_sgd_noise = 0;
  options.output.history = {};
  const auto without = TrainingRun::Create(options, Objects());
  const absl::Status status = without.ok() ? (*without)->Fit() : without.status();
  EXPECT_THAT(status.message(), HasSubstr("the run was started with differential privacy"));
}

// Exact metrics of training may not decide what becomes of the parameters.
TEST_F(RunPrivacyTest, SchedulersMayNotWatchTraining) {
  RunOptions options = Private(1);
  options.schedule.schedulers = {"early_stopping"};
  options.schedule.early_stopping.metric = "categorical_cross_entropy";
  const auto run = TrainingRun::Create(options, Objects());
  const absl::Status status = run.ok() ? (*run)->Fit() : run.status();
  EXPECT_THAT(status.message(),
              HasSubstr("early_stopping watches categorical_cross_entropy, a metric of training, "
                        "which has no noise: with RunOptions::training.dp_sgd_clip give one of "
                        "validation (val_categorical_cross_entropy)"));
  options.schedule.early_stopping.metric = "val_categorical_cross_entropy";
  Must(Begin(options)->Fit());
}

TEST_F(RunPrivacyTest, BatchNormalisationIsRefusedByLayer) {
  RunOptions options = Private(1);
  options.network.name = "resnet20_cifar10";
  options.data.name = "synthetic";
  options.data.synthetic = {.train_samples = 20, .test_samples = 4, .input_shape = {3, 32, 32}};
  const auto run = TrainingRun::Create(options);
  const absl::Status status = run.ok() ? (*run)->Fit() : run.status();
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("_BatchNormalization normalises the samples of a batch together"),
                    HasSubstr("use a group normalisation")));
}

}  // namespace
}  // namespace dtnn
