#include "models/callbacks/schedule.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/sgd.h"
#include "optim/schedulers/cosine.h"
#include "optim/schedulers/early_stopping.h"
#include "optim/schedulers/model_checkpoint.h"
#include "optim/schedulers/reduce_lr_every_nepochs.h"
#include "optim/schedulers/warm_up.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;
using ::testing::ElementsAre;

constexpr ImageExtents kSample = {8, 8, 1};

// Notes the rates of all steps: with plain SGD and a constant gradient they could be read off the
// parameters, but the trainer tells.
class Rates : public Callback {
 public:
  explicit Rates(const Trainer& trainer) : trainer_(trainer) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kTraining) steps.push_back(trainer_.engine().learning_rate());
    return absl::OkStatus();
  }
  std::vector<double> steps;

 private:
  const Trainer& trainer_;
};

class ScheduleTest : public ::testing::Test {
 protected:
  ScheduleTest() {
    TrainerOptions options;
    options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {std::make_shared<CategoricalAccuracy>()}};
    options.optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0});
    options.learning_rate = 0.08;
    trainer_ = *Trainer::Create(graph_, *store_, *device_, options);
    const std::shared_ptr<const Dataset> data =
        *MakeSynthetic({.train_samples = 40,
                        .sample = kSample,
                        .classes = 4,
                        .pattern = SyntheticPattern::kClasses});
    loader_ = *Loader::Create(data, Split::kTrain, AllIndices(40), {.batch = 10});
  }

  absl::Status Train(Schedule& schedule, int64_t epochs, Rates* rates = nullptr) {
    std::vector<Callback*> callbacks = {&schedule};
    if (rates != nullptr) callbacks.push_back(rates);
    return trainer_->Train(*loader_, loader_.get(), epochs - trainer_->epochs_done(), callbacks);
  }

  const Graph graph_ = *BuildModel("simplemlp", {.sample = kSample, .classes = 4});
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(graph_, *device_, DType::kFloat32, 1);
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Loader> loader_;
  std::vector<std::string> said_;
  const std::function<void(std::string_view)> say_ = [this](std::string_view line) {
    said_.emplace_back(line);
  };
};

TEST_F(ScheduleTest, FactorsScaleTheRateThatReductionsLower) {
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<WarmUp>(WarmUpOptions{.batches = 4}),
                                    std::make_shared<ReduceLrEveryNepochs>(
                                        ReduceLrEveryNepochsOptions{.factor = 0.5, .nepochs = 1})},
                     .say = say_,
                     .save = nullptr});
  Rates rates(*trainer_);
  ASSERT_TRUE(Train(schedule, 2, &rates).ok());
  EXPECT_THAT(rates.steps, ElementsAre(0.02, 0.04, 0.06, 0.08, 0.04, 0.04, 0.04, 0.04));
  EXPECT_THAT(said_, ElementsAre("LRScheduler ReduceLREveryNEpochs: setting learning rate to "
                                 "0.04000000",
                                 "LRScheduler ReduceLREveryNEpochs: setting learning rate to "
                                 "0.02000000"));
}

TEST_F(ScheduleTest, FactorsKnowTheLengthOfTheRun) {
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<Cosine>()}, .say = say_, .save = nullptr});
  Rates rates(*trainer_);
  ASSERT_TRUE(Train(schedule, 2, &rates).ok());
  ASSERT_EQ(rates.steps.size(), 8u);
  EXPECT_NEAR(rates.steps[4], 0.04, 1e-12);  // the middle
  EXPECT_GT(rates.steps[7], 0);
}

// As of a session that is fitted twice: what one ends with, the other does not begin with.
TEST_F(ScheduleTest, FactorsCountFromWhereTheyBegin) {
  std::vector<std::vector<double>> rates;
  for (int round = 0; round < 2; ++round) {
    Schedule schedule(*trainer_, *store_, *device_,
                      {.schedulers = {std::make_shared<Cosine>()},
                       .first_epoch = trainer_->epochs_done(),
                       .say = say_,
                       .save = nullptr});
    Rates seen(*trainer_);
    ASSERT_TRUE(Train(schedule, trainer_->epochs_done() + 2, &seen).ok());
    rates.push_back(seen.steps);
  }
  EXPECT_EQ(rates[0], rates[1]);
  EXPECT_EQ(rates[0][0], 0.08);
}

TEST_F(ScheduleTest, EarlyStoppingBringsBackTheBestParameters) {
  // "larger is better" of a loss that falls: the first epoch stays the best.
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<EarlyStopping>(
                         EarlyStoppingOptions{.better = Better::kLarger, .patience = 2})},
                     .say = say_,
                     .save = nullptr});
  ASSERT_TRUE(Train(schedule, 1).ok());
  const std::vector<double> first = Values(store_->all_values());
  ASSERT_TRUE(Train(schedule, 9).ok());
  EXPECT_EQ(trainer_->epochs_done(), 3);
  EXPECT_EQ(Values(store_->all_values()), first);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[0],
            "LRScheduler EarlyStopping: metric val_categorical_cross_entropy did not improve for 2 "
            "epochs, stop training!");
  EXPECT_EQ(said_[1],
            "LRScheduler EarlyStopping: restored the parameters of epoch 1, which has the best "
            "val_categorical_cross_entropy");
}

TEST_F(ScheduleTest, SavesWhatWasKept) {
  std::vector<int64_t> epochs;
  std::vector<double> saved;
  std::vector<std::string> previous_files;
  const auto save = [&](std::string_view owner, const EpochRecord& epoch, const Tensor& values,
                        const std::string& previous) {
    EXPECT_EQ(owner, "model_checkpoint");
    EXPECT_FALSE(epoch.metrics.empty());
    epochs.push_back(epoch.epoch);
    saved = Values(values);
    previous_files.push_back(previous);
    return absl::StrCat("file", epoch.epoch);
  };
  Schedule schedule(
      *trainer_, *store_, *device_,
      {.schedulers = {std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.save_freq = 2})},
       .say = say_,
       .save = save});
  ASSERT_TRUE(Train(schedule, 2).ok());
  // A process that continues the run knows the file of the one before.
  TrainingState state;
  schedule.AddTo(state);
  Schedule second(
      *trainer_, *store_, *device_,
      {.schedulers = {std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.save_freq = 2})},
       .say = say_,
       .save = save});
  ASSERT_TRUE(second.Restore(state, schedule.kept()).ok());
  ASSERT_TRUE(Train(second, 4).ok());
  EXPECT_THAT(epochs, ElementsAre(2, 4));
  EXPECT_THAT(previous_files, ElementsAre("", "file2"));
  EXPECT_EQ(saved, Values(store_->all_values()));
  EXPECT_EQ(said_.back(), "LRScheduler ModelCheckpoint: saving model weights and bias in file4");
}

// Keeps the parameters that every epoch ends with. Stands before the schedule.
class EpochParameters : public Callback {
 public:
  explicit EpochParameters(const ParameterStore& store) : store_(store) {}
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    of_epoch.push_back(Values(store_.all_values()));
    return absl::OkStatus();
  }
  std::vector<std::vector<double>> of_epoch;

 private:
  const ParameterStore& store_;
};

// Early stopping ends with the parameters of the first epoch; the last is the best of the other,
// whose turn comes after it.
TEST_F(ScheduleTest, ParametersAreBroughtBackWhenAllSchedulersHaveSeenTheEpoch) {
  std::vector<std::shared_ptr<Scheduler>> schedulers = {
      std::make_shared<EarlyStopping>(
          EarlyStoppingOptions{.better = Better::kLarger, .patience = 2}),
      std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.save_freq = 1})};
  std::map<int64_t, std::vector<double>> saved;
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = schedulers,
                     .say = say_,
                     .save = [&](std::string_view, const EpochRecord& epoch, const Tensor& values,
                                 const std::string&) -> absl::StatusOr<std::string> {
                       saved[epoch.epoch] = Values(values);
                       return absl::StrCat("file", epoch.epoch);
                     }});
  EpochParameters parameters(*store_);
  Callback* const callbacks[] = {&parameters, &schedule};
  ASSERT_TRUE(trainer_->Train(*loader_, loader_.get(), 10, callbacks).ok());
  ASSERT_EQ(parameters.of_epoch.size(), 3u);
  EXPECT_EQ(Values(store_->all_values()), parameters.of_epoch[0]);
  for (size_t epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_EQ(saved.at(int64_t(epoch)), parameters.of_epoch[epoch - 1]) << "epoch " << epoch;
  }
}

// Keeps what every epoch came to.
class EpochMetricsOf : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    of_epoch.push_back({.epoch = training.epoch + 1, .metrics = MetricsOf(training, validation)});
    return absl::OkStatus();
  }
  std::vector<EpochRecord> of_epoch;
};

// Which epoch the parameters are of is known with its metrics, here and where the run is resumed.
TEST_F(ScheduleTest, TheEpochThatIsRestoredIsKnown) {
  const auto make = [&] {
    return Schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<EarlyStopping>(
                         EarlyStoppingOptions{.better = Better::kLarger, .patience = 3})},
                     .say = say_,
                     .save = nullptr});
  };
  Schedule first = make();
  EpochMetricsOf metrics;
  Callback* const callbacks[] = {&metrics, &first};
  ASSERT_TRUE(trainer_->Train(*loader_, loader_.get(), 2, callbacks).ok());
  EXPECT_FALSE(first.restored().has_value());
  TrainingState state;
  first.AddTo(state);
  Schedule second = make();
  ASSERT_TRUE(second.Restore(state, first.kept()).ok());
  ASSERT_TRUE(Train(second, 20).ok());
  EXPECT_EQ(trainer_->epochs_done(), 4);
  ASSERT_TRUE(second.restored().has_value());
  EXPECT_EQ(*second.restored(), metrics.of_epoch[0]);
}

// Checkpoints keep what the last epoch came to: the run may have more epochs one day.
TEST_F(ScheduleTest, ARunThatIsNotStoppedEndsWithTheBestAfterItsLastEpoch) {
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<EarlyStopping>(
                         EarlyStoppingOptions{.better = Better::kLarger, .patience = 9})},
                     .say = say_,
                     .save = nullptr});
  EpochParameters at_schedule(*store_);
  EndOfRun end(*trainer_, schedule);
  EpochMetricsOf metrics;
  Callback* const callbacks[] = {&metrics, &schedule, &at_schedule, &end};
  ASSERT_TRUE(trainer_->Train(*loader_, loader_.get(), 3, callbacks).ok());
  ASSERT_EQ(at_schedule.of_epoch.size(), 3u);
  EXPECT_NE(at_schedule.of_epoch[2], at_schedule.of_epoch[0]) << "what checkpoints save";
  EXPECT_EQ(Values(store_->all_values()), at_schedule.of_epoch[0]);
  ASSERT_TRUE(schedule.restored().has_value());
  EXPECT_EQ(*schedule.restored(), metrics.of_epoch[0]);
}

TEST_F(ScheduleTest, ForgetfulSchedulersBeginAnew) {
  const auto make = [&] {
    return Schedule(
        *trainer_, *store_, *device_,
        {.schedulers = {std::make_shared<WarmUp>(WarmUpOptions{.batches = 3}),
                        std::make_shared<EarlyStopping>(
                            EarlyStoppingOptions{.metric = "categorical_cross_entropy"}),
                        std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.save_freq = 1})},
         .say = say_,
         .save = [&](std::string_view, const EpochRecord&, const Tensor&,
                     const std::string&) -> absl::StatusOr<std::string> { return "file"; }});
  };
  Schedule first = make(), fresh = make();
  ASSERT_TRUE(Train(first, 1).ok());
  TrainingState state, new_state;
  first.AddTo(state);
  fresh.AddTo(new_state);
  ASSERT_NE(state.schedulers, new_state.schedulers);
  const auto after = [&](const ForgetfulSchedulers& forgetful,
                         const std::vector<std::string>& forgotten) {
    Schedule second = make();
    EXPECT_EQ(*second.Restore(state, first.kept(), forgetful), forgotten);
    TrainingState restored;
    second.AddTo(restored);
    EXPECT_EQ(second.kept().size(), 2 - forgotten.size());
    return restored;
  };
  TrainingState expected = state;
  EXPECT_EQ(after({}, {}), expected);
  expected.schedulers["early_stopping"] = new_state.schedulers["early_stopping"];
  expected.kept_epochs.erase("early_stopping");
  EXPECT_EQ(after({.owners = {"early_stopping", "warm_up"}}, {"early_stopping"}), expected);
  EXPECT_EQ(after({.training = true}, {"early_stopping"}), expected)
      << "the other one watches the validation";
  expected.schedulers["model_checkpoint"] = new_state.schedulers["model_checkpoint"];
  EXPECT_EQ(after({.all = true}, {"early_stopping", "model_checkpoint"}), new_state);
}

// One keeps the best epoch, the other the worst.
TEST_F(ScheduleTest, TwoSchedulersOfAKindAreKeptApart) {
  struct File {
    std::string owner;
    int64_t epoch;
    std::string previous;
    bool operator==(const File&) const = default;
  };
  std::vector<File> files;
  const auto make = [&] {
    const auto checkpoint = [](Better better) {
      return std::make_shared<ModelCheckpoint>(
          ModelCheckpointOptions{.better = better, .save_freq = 1});
    };
    return Schedule(*trainer_, *store_, *device_,
                    {.schedulers = {checkpoint(Better::kLarger), checkpoint(Better::kSmaller)},
                     .say = say_,
                     .save = [&](std::string_view owner, const EpochRecord& epoch, const Tensor&,
                                 const std::string& previous) -> absl::StatusOr<std::string> {
                       files.push_back({std::string(owner), epoch.epoch, previous});
                       return absl::StrCat("file", epoch.epoch);
                     }});
  };
  Schedule first = make();
  ASSERT_TRUE(Train(first, 2).ok());
  // file1 stays while the first needs it.
  const std::vector<File> expected = {
      {"model_checkpoint", 1, ""}, {"model_checkpoint-2", 1, ""}, {"model_checkpoint-2", 2, ""}};
  EXPECT_EQ(files, expected);
  TrainingState state;
  first.AddTo(state);
  ASSERT_EQ(state.schedulers.size(), 2u);
  EXPECT_GT(state.schedulers["model_checkpoint"][0], state.schedulers["model_checkpoint-2"][0]);
  EXPECT_EQ(first.kept().size(), 2u);
  Schedule second = make();
  ASSERT_TRUE(second.Restore(state, first.kept()).ok());
  ASSERT_TRUE(Train(second, 3).ok());
  EXPECT_EQ(files.back(), (File{"model_checkpoint-2", 3, "file2"}));
  TrainingState later;
  second.AddTo(later);
  EXPECT_EQ(later.schedulers["model_checkpoint"], state.schedulers["model_checkpoint"]);
}

TEST_F(ScheduleTest, AnUnknownMetricIsAnError) {
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<EarlyStopping>(
                         EarlyStoppingOptions{.metric = "val_f1_score"})},
                     .say = nullptr,
                     .save = nullptr});
  EXPECT_EQ(Train(schedule, 2).code(), absl::StatusCode::kNotFound);
}

TEST_F(ScheduleTest, StateGoesOverToAnotherSchedule) {
  const auto make = [&](int64_t patience) {
    return Schedule(*trainer_, *store_, *device_,
                    {.schedulers = {std::make_shared<EarlyStopping>(
                         EarlyStoppingOptions{.better = Better::kLarger, .patience = patience})},
                     .say = say_,
                     .save = nullptr});
  };
  Schedule first = make(3);
  ASSERT_TRUE(Train(first, 2).ok());
  TrainingState state;
  first.AddTo(state);
  Schedule second = make(3);
  ASSERT_TRUE(second.Restore(state, first.kept()).ok());
  ASSERT_TRUE(Train(second, 20).ok());
  EXPECT_EQ(trainer_->epochs_done(), 4);
  Schedule other(*trainer_, *store_, *device_, {});
  const absl::Status status = other.Restore(state, {}).status();
  EXPECT_EQ(status.message(), "the run was started with the schedulers early_stopping, not none");
}

TEST_F(ScheduleTest, AStateThatOneSchedulerRefusesChangesNone) {
  const auto early = std::make_shared<EarlyStopping>(EarlyStoppingOptions{});
  const auto checkpoint = std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{});
  Schedule schedule(*trainer_, *store_, *device_,
                    {.schedulers = {early, checkpoint}, .say = nullptr, .save = nullptr});
  TrainingState state;
  schedule.AddTo(state);
  const std::vector<double> before = early->State();
  state.schedulers["early_stopping"] = {0.5, 2};
  state.schedulers["model_checkpoint"].push_back(1);
  EXPECT_FALSE(schedule.Restore(state, {}).ok());
  EXPECT_EQ(early->State(), before);
}

}  // namespace
}  // namespace dtnn
