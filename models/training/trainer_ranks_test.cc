// A run of several ranks that is stopped in the middle of an epoch and continued.

#include <memory>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CopyParameters;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;

// Stops a run after some batches of all, and lowers the rate before.
class Watcher : public Callback {
 public:
  Watcher(Trainer& trainer, int64_t stop_at) : trainer_(trainer), stop_at_(stop_at) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.epoch == 0 && pass.step == 1) trainer_.set_learning_rate(0.01);
    if (trainer_.steps_done() == stop_at_) trainer_.Stop();
    return absl::OkStatus();
  }

 private:
  Trainer& trainer_;
  const int64_t stop_at_;
};

SessionOptions RankOf(Communicator& communicator) {
  SessionOptions options{
      .dtype = DType::kFloat64,
      .samples = 27,
      .validation_split = 0,
      .loading = {.batch = 4, .rank = communicator.rank(), .ranks = communicator.size()}};
  options.training.optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0});
  options.training.communicator = &communicator;
  return options;
}

TEST(TrainerRanksTest, ARestoredRunHasTheMetricsOfAllRanks) {
  for (const int64_t stop_at : {2, 4, 6}) {  // of 4 steps per epoch
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      SetNumThreads(1);
      const SessionOptions options = RankOf(communicator);
      TrainingSession whole(PatternMlp(), options), first(PatternMlp(), options);
      TrainingSession second(PatternMlp(), options);
      Watcher all(*whole.trainer, -1), begin(*first.trainer, stop_at), end(*second.trainer, -1);
      EXPECT_TRUE(whole.Train(3, {&all}).ok());
      EXPECT_TRUE(first.Train(3, {&begin}).ok());
      const TrainingState state = *first.trainer->State();
      EXPECT_EQ(state.metrics.samples, stop_at == 4 ? 27 : 16) << "not of all ranks";
      EXPECT_EQ(state.learning_rate, 0.01);
      EXPECT_TRUE(second.trainer->PrepareForTraining(second.training->max_batch()).ok());
      CopyParameters(first, second);
      EXPECT_TRUE(second.trainer->Restore(state).ok());
      EXPECT_EQ(second.trainer->learning_rate(), 0.01);
      EXPECT_TRUE(second.Train(3, {&end}).ok());
      std::vector<double> losses = first.record.losses;
      losses.insert(losses.end(), second.record.losses.begin(), second.record.losses.end());
      EXPECT_EQ(losses.size(), whole.record.losses.size());
      EXPECT_TRUE(testing::Close(losses, whole.record.losses, 1e-12));
      for (const int64_t samples : second.record.samples) EXPECT_EQ(samples, 27);
      EXPECT_EQ(Values(second.store->all_values()), Values(whole.store->all_values()));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Stops a run in its first validation.
class StopInValidation : public Callback {
 public:
  explicit StopInValidation(Trainer& trainer) : trainer_(trainer) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kValidation && pass.epoch == 0) trainer_.Stop();
    return absl::OkStatus();
  }

 private:
  Trainer& trainer_;
};

// The metrics of its training are of all ranks already: nothing may add them up once more.
TEST(TrainerRanksTest, AnEpochLeftInItsValidationCountsEverySampleOnce) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SetNumThreads(1);
    SessionOptions options = RankOf(communicator);
    options.validation_split = 0.4;
    TrainingSession whole(PatternMlp(), options), first(PatternMlp(), options);
    TrainingSession second(PatternMlp(), options);
    EXPECT_TRUE(whole.Train(2).ok());
    StopInValidation stop(*first.trainer);
    EXPECT_TRUE(first.Train(2, {&stop}).ok());
    EXPECT_EQ(first.trainer->epochs_done(), 0);
    EXPECT_TRUE(first.record.losses.empty());
    const TrainingState state = *first.trainer->State();
    EXPECT_EQ(state.metrics.samples, whole.record.samples[0]);
    EXPECT_TRUE(second.trainer->PrepareForTraining(second.training->max_batch()).ok());
    CopyParameters(first, second);
    EXPECT_TRUE(second.trainer->Restore(state).ok());
    for (TrainingSession* session : {&first, &second}) {
      EXPECT_TRUE(session->Train(2).ok());
      EXPECT_EQ(session->record.samples, whole.record.samples);
      EXPECT_EQ(session->record.losses, whole.record.losses);
      EXPECT_EQ(session->record.validation_losses, whole.record.validation_losses);
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
