// A run of several ranks that is stopped in the middle of an epoch and gone on with.

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

TEST(TrainerRanksTest, ARestoredRunHasTheFiguresOfAllRanks) {
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
      EXPECT_EQ(state.figure_samples, stop_at == 4 ? 27 : 16) << "not of all ranks";
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

}  // namespace
}  // namespace dtnn
