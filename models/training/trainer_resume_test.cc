// A run that is stopped anywhere and continued, by the same trainer or another one.

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "data/transforms/flip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "models/zoo/zoo.h"
#include "optim/optimizers/adam.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::PatternTraining;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;

// Stops a run after a number of training batches, then after a number of validation batches.
class Stopper : public Callback {
 public:
  Stopper(Trainer& trainer, Pass::Kind kind, int64_t epoch, int64_t step)
      : trainer_(trainer), kind_(kind), epoch_(epoch), step_(step) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == kind_ && pass.epoch == epoch_ && pass.step == step_) trainer_.Stop();
    return absl::OkStatus();
  }

 private:
  Trainer& trainer_;
  const Pass::Kind kind_;
  const int64_t epoch_, step_;
};

TEST(TrainerResumeTest, ARunThatIsStoppedAndRestoredGivesTheSameBits) {
  const Graph graph =
      *BuildModel("simplecnn8", {.sample = kPatternSample, .classes = 4});  // has dropout
  for (const double average_decay : {0.0, 0.9}) {
    SessionOptions options;
    options.training.optimizer =
        std::make_shared<Adam>(AdamOptions{.average_decay = average_decay});
    TrainingSession whole(graph, options);
    ASSERT_TRUE(whole.Train(3).ok());
    ASSERT_EQ(whole.training->steps(), 6);
    const std::vector<std::pair<Pass::Kind, int64_t>> places = {{Pass::Kind::kTraining, 1},
                                                                {Pass::Kind::kTraining, 4},
                                                                {Pass::Kind::kTraining, 6},
                                                                {Pass::Kind::kValidation, 1},
                                                                {Pass::Kind::kValidation, 3}};
    for (const auto& [kind, step] : places) {
      for (const int64_t epoch : {0, 1}) {
        TrainingSession first(graph, options), second(graph, options);
        Stopper stopper(*first.trainer, kind, epoch, step);
        ASSERT_TRUE(first.Train(3, {&stopper}).ok());
        EXPECT_EQ(first.trainer->epochs_done(), epoch);
        const TrainingState state = *first.trainer->State();
        ASSERT_TRUE(second.trainer->PrepareForTraining(9).ok());
        CopyParameters(first, second);
        ASSERT_TRUE(second.trainer->Restore(state).ok());
        ASSERT_TRUE(second.Train(3).ok());
        std::vector<double> losses = first.record.losses;
        losses.insert(losses.end(), second.record.losses.begin(), second.record.losses.end());
        EXPECT_EQ(losses, whole.record.losses) << "stopped in epoch " << epoch << ", step " << step;
        EXPECT_EQ(Values(second.store->all_values()), Values(whole.store->all_values()));
        EXPECT_EQ(second.trainer->steps_done(), whole.trainer->steps_done());
        EXPECT_EQ(
            first.trainer->totals().training_samples + second.trainer->totals().training_samples,
            whole.trainer->totals().training_samples)
            << "each sample counts where it was done";
      }
    }
  }
}

TEST(TrainerResumeTest, TrainGoesOnFromTheEpochsThatAreDone) {
  TrainingSession once(PatternMlp()), twice(PatternMlp());
  ASSERT_TRUE(once.Train(3).ok());
  ASSERT_TRUE(twice.Train(2).ok());
  ASSERT_TRUE(twice.Train(3).ok());
  EXPECT_EQ(once.record.losses, twice.record.losses);
  EXPECT_EQ(twice.trainer->epochs_done(), 3);
}

TEST(TrainerResumeTest, TrainCountsFromWhereItStands) {
  TrainingSession once(PatternMlp()), twice(PatternMlp());
  const auto train = [](TrainingSession& session, int64_t epochs,
                        std::vector<Callback*> callbacks) {
    callbacks.push_back(&session.record);
    return session.trainer->Train(*session.training, session.validation.get(), epochs, callbacks);
  };
  ASSERT_TRUE(train(once, 3, {}).ok());
  ASSERT_TRUE(train(twice, 1, {}).ok());
  ASSERT_TRUE(train(twice, 1, {}).ok());
  EXPECT_EQ(twice.trainer->epochs_done(), 2);
  Stopper stopper(*twice.trainer, Pass::Kind::kTraining, 2, 4);
  ASSERT_TRUE(train(twice, 1, {&stopper}).ok());
  EXPECT_EQ(twice.trainer->epochs_done(), 2);
  ASSERT_TRUE(train(twice, 1, {}).ok());  // ends the epoch that was left in its middle
  EXPECT_EQ(twice.trainer->epochs_done(), 3);
  EXPECT_EQ(twice.record.losses, once.record.losses);
  ASSERT_TRUE(train(twice, 0, {}).ok());
  EXPECT_EQ(twice.trainer->epochs_done(), 3);
}

TEST(TrainerResumeTest, RestoreRefusesAnotherRun) {
  TrainingSession session(PatternMlp());
  TrainingState state{
      .step_in_epoch = 2, .random_seed = PatternTraining().random_seed, .metrics = {.sums = {1}}};
  EXPECT_EQ(session.trainer->Restore(state).message(),
            "the run was interrupted in the middle of an epoch with 1 sums for its loss and "
            "metrics; this one has 2; use the same loss and metrics");
  state.metrics = {.sums = {1, 2}};
  state.random_seed = 1;
  EXPECT_EQ(session.trainer->Restore(state).message(),
            "the run was started with random seed 1, not " +
                std::to_string(PatternTraining().random_seed));
  state.random_seed = PatternTraining().random_seed;
  state.metrics.names = {"mse", "categorical_accuracy"};
  EXPECT_THAT(std::string(session.trainer->Restore(state).message()),
              HasSubstr("use the same loss and metrics"));
  state.metrics.names = {"categorical_cross_entropy", "categorical_accuracy"};
  EXPECT_FALSE(session.trainer->Restore(state).ok()) << "steps of no samples";
  state.sampler = {.batch = 9, .samples = 48, .seed = 3};
  ASSERT_TRUE(session.trainer->Restore(state).ok());
  const absl::Status status = session.Train(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "another order";
}

TEST(TrainerResumeTest, RestoreRefusesAPlaceThatNoEpochHas) {
  TrainingSession session(PatternMlp());
  TrainingState state{.random_seed = PatternTraining().random_seed, .metrics = {.sums = {1, 2}}};
  state.sampler = {.batch = 9, .samples = 48, .seed = 2};
  const auto restored = [&](int64_t first, int64_t step) {
    state.sampler.first = first;
    state.step_in_epoch = step;
    const absl::Status status = session.trainer->Restore(state);
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("the state is damaged"));
    }
    return status.ok();
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(restored(0, 6));
  EXPECT_FALSE(restored(0, 7));
  EXPECT_FALSE(restored(0, kHuge));
  EXPECT_FALSE(restored(1, -1));
  EXPECT_FALSE(restored(-1, 1));
  EXPECT_TRUE(restored(48, 0));
  EXPECT_FALSE(restored(49, 0));
  EXPECT_FALSE(restored(kHuge, 0));
  EXPECT_TRUE(restored(30, 2));
  EXPECT_FALSE(restored(30, 3));
}

// A run left after two steps of an epoch, or after the whole epoch.
TrainingState LeftAfter(int64_t steps) {
  TrainingSession session(PatternMlp());
  Stopper stopper(*session.trainer, Pass::Kind::kTraining, 0, steps);
  EXPECT_TRUE(session.Train(1, {&stopper}).ok());
  return *session.trainer->State();
}

TEST(TrainerResumeTest, AnEpochGoesOnOnlyAsItBegan) {
  const std::pair<std::string, std::function<void(SessionOptions&)>> changes[] = {
      {"seed was 2 and is now 3", [](SessionOptions& o) { o.loading.seed = 3; }},
      {"is now that of the files", [](SessionOptions& o) { o.loading.shuffle = false; }},
      {"list of transforms was none and is now flip:0.5",
       [](SessionOptions& o) { o.loading.transforms = {Flip()}; }},
      {"offset of the normalisation was none and is now -0.5",
       [](SessionOptions& o) { o.loading.normalization = {.offset = {-0.5}, .scale = {2}}; }},
  };
  const TrainingState middle = LeftAfter(2), end = LeftAfter(-1);
  ASSERT_EQ(middle.step_in_epoch, 2);
  ASSERT_EQ(end.step_in_epoch, 0);
  TrainingSession unchanged(PatternMlp());
  ASSERT_TRUE(unchanged.trainer->Restore(middle).ok());
  EXPECT_TRUE(unchanged.Train(2).ok());
  for (const auto& [words, change] : changes) {
    SessionOptions options;
    change(options);
    TrainingSession changed(PatternMlp(), options), later(PatternMlp(), options);
    ASSERT_TRUE(changed.trainer->Restore(middle).ok());
    const absl::Status status = changed.Train(2);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    const std::string message(status.message());
    EXPECT_THAT(message,
                HasSubstr("epoch 1 was interrupted after 2 steps and cannot be continued: the "));
    EXPECT_THAT(message, HasSubstr(words));
    EXPECT_EQ(changed.Train(2), status) << "the same answer when asked twice";
    ASSERT_TRUE(later.trainer->Restore(end).ok());
    EXPECT_TRUE(later.Train(2).ok()) << "the next epoch may have other settings";
  }
}

TEST(TrainerResumeTest, AnEpochGoesOnInOtherSteps) {
  const std::pair<int64_t, std::function<void(SessionOptions&)>> changes[] = {
      {2 + 4 + 6, [](SessionOptions& o) { o.loading.batch = 8; }},  // 18 samples done, 30 left
      {2 + 2 + 3, [](SessionOptions& o) { o.training.accumulate_steps = 2; }},
  };
  const TrainingState middle = LeftAfter(2);
  for (const auto& [updates, change] : changes) {
    SessionOptions options;
    change(options);
    TrainingSession session(PatternMlp(), options);
    ASSERT_TRUE(session.trainer->Restore(middle).ok());
    ASSERT_TRUE(session.Train(2).ok());
    EXPECT_EQ(session.record.samples, (std::vector<int64_t>{48, 48}));
    EXPECT_EQ(session.trainer->steps_done(), updates);
  }
}

// Not restored, but trained on with by the trainer that stopped, and with loaders in turn.
TEST(TrainerResumeTest, ATrainerGoesOnInOtherSteps) {
  SessionOptions options;
  TrainingSession nines(PatternMlp(), options);
  options.loading.batch = 8;
  TrainingSession eights(PatternMlp(), options);
  for (int64_t step = 1; step < 5; ++step) {
    Stopper stopper(*nines.trainer, Pass::Kind::kTraining, 0, step);
    ASSERT_TRUE(nines.Train(2, {&stopper}).ok());
    std::swap(nines.training, eights.training);
  }
  ASSERT_TRUE(nines.Train(3).ok());
  EXPECT_EQ(nines.record.samples, std::vector<int64_t>(3, 48));
  EXPECT_EQ(nines.training->SamplesBefore(0), 0);
}

TEST(TrainerResumeTest, AStateOfAnOlderVersionIsTakenByItsCounts) {
  TrainingState state = LeftAfter(2);
  state.sampler.treatment = std::nullopt;
  SessionOptions options;
  options.loading.transforms = {Flip()};
  TrainingSession session(PatternMlp(), options);
  ASSERT_TRUE(session.trainer->Restore(state).ok());
  EXPECT_TRUE(session.Train(2).ok());
}

}  // namespace
}  // namespace dtnn
