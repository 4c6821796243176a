#include "models/callbacks/checkpointer.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/callbacks/epoch_ends.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "optim/schedulers/cosine.h"
#include "optim/schedulers/early_stopping.h"
#include "optim/schedulers/warm_up.h"
#include "tensor/must.h"
#include "tensor/named_argument.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr ImageExtents kSample = {8, 8, 1};

// Stops a run after a number of steps, as a signal would, or dies there: without a last checkpoint.
class Ending : public Callback {
 public:
  Ending(Trainer& trainer, int64_t steps, Checkpointer* last)
      : trainer_(trainer), steps_(steps), last_(last) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind != Pass::Kind::kTraining || trainer_.steps_done() != steps_) {
      return absl::OkStatus();
    }
    trainer_.Stop();
    return last_ == nullptr ? absl::OkStatus() : last_->Save();
  }

 private:
  Trainer& trainer_;
  const int64_t steps_;
  Checkpointer* last_;
};

class Losses : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    values.push_back(training.averages->Value(0));
    values.push_back(validation->averages->Value(0));
    return absl::OkStatus();
  }
  std::vector<double> values;
};

// A process: everything made anew but for the files.
struct Process {
  Process(const std::string& folder, int64_t every_steps, const std::string& optimizer = "adam",
          bool stops_early = true, bool writes = true,
          const std::optional<RunIdentity>& settings = std::nullopt,
          std::function<double(int64_t)> first_rate = nullptr, uint64_t seed = 1,
          int64_t every_epochs = 2, double average_decay = 0)
      : graph(*BuildModel("simplecnn8", {.sample = kSample, .classes = 4})),
        device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, DType::kFloat32, 1)) {
    TrainerOptions options;
    options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {std::make_shared<CategoricalAccuracy>()}};
    options.optimizer = std::make_shared<Adam>(AdamOptions{.average_decay = average_decay});
    options.learning_rate = 0.02;
    options.random_seed = seed;
    trainer = *Trainer::Create(graph, *store, *device, options);
    // "Larger is better" of a loss: early stopping ends the run and brings back its best.
    ScheduleOptions scheduling = {
        .schedulers = {std::make_shared<WarmUp>(WarmUpOptions{.batches = 9}),
                       std::make_shared<EarlyStopping>(
                           EarlyStoppingOptions{.better = Better::kLarger, .patience = 3})},
        .say = nullptr,
        .save = nullptr};
    if (!stops_early) scheduling.schedulers.pop_back();
    schedule = std::make_unique<Schedule>(*trainer, *store, *device, scheduling);
    checkpointer = std::make_unique<Checkpointer>(
        RunParts{&graph, store.get(), device.get(), trainer.get(), schedule.get(), optimizer,
                 settings, std::move(first_rate)},
        CheckpointerOptions{
            .folder = CheckpointFolder(folder),
            .every_epochs = every_epochs,
            .every_steps = every_steps,
            .writes = writes,
            .say = [this](std::string_view line) { said.emplace_back(line); },
        });
    const TrainValidation divided = *SplitIndices(60, 0.2, 1);
    const std::shared_ptr<const Dataset> data =
        *MakeSynthetic({.train_samples = 60,
                        .sample = kSample,
                        .classes = 4,
                        .pattern = SyntheticPattern::kClasses});
    training = *Loader::Create(data, Split::kTrain, divided.train, {.batch = 9, .seed = 2});
    validation = *Loader::Create(data, Split::kTrain, divided.validation, {.batch = 5});
  }

  absl::Status Train(int64_t ending = -1, bool saves = false) {
    Ending end(*trainer, ending, saves ? checkpointer.get() : nullptr);
    Callback* const callbacks[] = {&losses, schedule.get(), checkpointer.get(), &end};
    return trainer->Train(*training, validation.get(), 12 - trainer->epochs_done(), callbacks);
  }
  absl::StatusOr<std::string> Resume() {
    const absl::Status prepared = trainer->PrepareForTraining(training->max_batch());
    return prepared.ok() ? checkpointer->Resume() : prepared;
  }
  absl::StatusOr<std::string> ResumeForGood() {
    absl::StatusOr<std::string> path = Resume();
    const absl::Status given_up = path.ok() ? checkpointer->SetAsideNewer() : path.status();
    return given_up.ok() ? path : given_up;
  }

  RunParts Parts(const RunIdentity& settings) {
    return {&graph, store.get(), device.get(), trainer.get(), schedule.get(), "adam", settings};
  }

  Graph graph;
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<Checkpointer> checkpointer;
  std::unique_ptr<Loader> training, validation;
  Losses losses;
  std::vector<std::string> said;
};

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "checkpointer_test_" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(CheckpointerTest, AResumedRunGivesTheSameBits) {
  Process whole(Folder("whole"), 0);
  ASSERT_TRUE(whole.checkpointer->Begin().ok());
  ASSERT_TRUE(whole.Train().ok());
  ASSERT_LT(whole.trainer->epochs_done(), 12) << "early stopping must have had its turn";
  for (const bool saves : {true, false}) {
    for (const int64_t ending : {1, 5, 6, 7, 13, 20, 24}) {
      SCOPED_TRACE(absl::StrCat("ended after step ", ending, saves ? ", saved" : ", killed"));
      const std::string folder = Folder("resumed");
      Process first(folder, 5), second(folder, 5);
      ASSERT_TRUE(first.checkpointer->Begin().ok());
      ASSERT_TRUE(first.Train(ending, saves).ok());
      first.checkpointer = nullptr;  // leaves the folder to others
      const absl::StatusOr<std::string> path = second.Resume();
      ASSERT_TRUE(path.ok()) << path.status();
      EXPECT_EQ(path->empty(), !saves && ending < 5);
      if (saves) {
        EXPECT_EQ(second.trainer->steps_done(), ending);
      }
      ASSERT_TRUE(second.Train().ok());
      // Losses of epochs that the second process saw end.
      const std::vector<double>& all = whole.losses.values;
      ASSERT_LE(second.losses.values.size(), all.size());
      EXPECT_EQ(second.losses.values,
                std::vector<double>(all.end() - int64_t(second.losses.values.size()), all.end()));
      EXPECT_EQ(Values(second.store->all_values()), Values(whole.store->all_values()));
      EXPECT_EQ(second.trainer->steps_done(), whole.trainer->steps_done());
    }
  }
}

TEST(CheckpointerTest, AResumedRunKeepsTheAverageOfItsParameters) {
  const auto process = [](const std::string& folder, double average_decay) {
    return std::make_unique<Process>(folder, 5, "adam", true, true, std::nullopt, nullptr,
                                     /*seed=*/1, /*every_epochs=*/2, average_decay);
  };
  const auto whole = process(Folder("average_whole"), 0.8);
  ASSERT_TRUE(whole->checkpointer->Begin().ok());
  ASSERT_TRUE(whole->Train().ok());
  for (const int64_t ending : {1, 6, 7, 20}) {
    const std::string folder = Folder("average");
    const auto first = process(folder, 0.8), second = process(folder, 0.8),
               without = process(folder, 0);
    ASSERT_TRUE(first->checkpointer->Begin().ok());
    ASSERT_TRUE(first->Train(ending, /*saves=*/true).ok());
    const std::vector<double> shown = Values(first->store->all_values());
    first->checkpointer = nullptr;  // leaves the folder to others
    EXPECT_THAT(std::string(without->Resume().status().message()),
                HasSubstr("a run with an average of its parameters; this one has none"));
    without->checkpointer = nullptr;
    ASSERT_TRUE(second->Resume().ok());
    EXPECT_EQ(Values(second->store->all_values()), shown) << "a file of weights has the average";
    ASSERT_TRUE(second->Train().ok());
    EXPECT_EQ(Values(second->store->all_values()), Values(whole->store->all_values())) << ending;
    EXPECT_EQ(Values(second->store->slots()[2]), Values(whole->store->slots()[2])) << ending;
    EXPECT_EQ(second->losses.values, std::vector<double>(whole->losses.values.end() -
                                                             int64_t(second->losses.values.size()),
                                                         whole->losses.values.end()));
  }
}

// A damaged file must neither stay the newest by its name nor push a good one out of the folder.
TEST(CheckpointerTest, ARunThatGoesBackGivesUpWhatItHadAfter) {
  const std::string folder = Folder("back");
  const auto file = [&](int64_t steps) {
    return std::filesystem::path(folder) / absl::StrCat("checkpoint-", steps, ".npz");
  };
  Process first(folder, 5);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(11, true).ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  ASSERT_TRUE(std::filesystem::exists(file(11)));
  std::filesystem::resize_file(file(11), 100);
  // A process that only reads leaves the files to the one that writes.
  Process reader(folder, 5, "adam", true, /*writes=*/false), second(folder, 5);
  const absl::StatusOr<std::string> read = reader.ResumeForGood();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::filesystem::exists(file(11)));
  // Nor does a run rename any that may still be refused.
  ASSERT_TRUE(second.Resume().ok());
  EXPECT_TRUE(std::filesystem::exists(file(11)));
  const absl::StatusOr<std::string> path = second.ResumeForGood();
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_LT(second.trainer->steps_done(), 11);
  EXPECT_EQ(*path, file(second.trainer->steps_done()));
  EXPECT_FALSE(std::filesystem::exists(file(11)));
  EXPECT_TRUE(std::filesystem::exists(file(11).string() + ".given-up"));
}

TEST(CheckpointerTest, ARunThatASchedulerEndedStaysEnded) {
  const std::string folder = Folder("ended");
  // No epoch is saved but the one that ends the run.
  Process first(folder, 0, "adam", true, true, std::nullopt, nullptr, /*seed=*/1,
                /*every_epochs=*/12);
  Process second(folder, 0);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train().ok());
  ASSERT_LT(first.trainer->epochs_done(), 12) << "early stopping must have had its turn";
  first.checkpointer = nullptr;  // leaves the folder to others
  ASSERT_TRUE(second.Resume().ok());
  ASSERT_TRUE(second.Train().ok());
  EXPECT_EQ(second.trainer->epochs_done(), first.trainer->epochs_done());
  EXPECT_EQ(second.trainer->steps_done(), first.trainer->steps_done());
  EXPECT_TRUE(second.losses.values.empty());
  EXPECT_EQ(Values(second.store->all_values()), Values(first.store->all_values()));
}

TEST(CheckpointerTest, ARunThatBeginsAnewDoesNotOverwriteAnother) {
  const std::string folder = Folder("taken");
  Process first(folder, 5);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(6, true).ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  const absl::Status status = Process(folder, 5).checkpointer->Begin();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder + "/checkpoint-6.npz: is a"));
}

TEST(CheckpointerTest, ARunThatWritesHasTheFolderForItself) {
  const std::string folder = Folder("shared");
  Process first(folder, 5), second(folder, 5), reader(folder, 5, "adam", true, /*writes=*/false);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(6, true).ok());
  for (const absl::Status& status : {second.checkpointer->Begin(), second.Resume().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder + ": is in use by this process, "));
  }
  EXPECT_TRUE(reader.Resume().ok()) << "another rank of the first run";
  first.checkpointer = nullptr;
  EXPECT_TRUE(second.Resume().ok());
}

TEST(CheckpointerTest, AnotherRunIsRefusedAndNothingChanges) {
  const std::string folder = Folder("other");
  Process first(folder, 5);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(6, true).ok());
  first.trainer->set_learning_rate(0.01);
  ASSERT_TRUE(first.checkpointer->Save().ok());
  const std::string path = first.checkpointer->newest();
  first.checkpointer = nullptr;  // leaves the folder to others
  Process optimizer(folder, 5, "sgd"), schedulers(folder, 5, "adam", false);
  Process seed(folder, 5, "adam", true, true, std::nullopt, nullptr, 7);
  for (Process* second : {&optimizer, &schedulers, &seed}) {
    const std::vector<double> before = Values(second->store->all_values());
    const absl::Status refused = second->Resume().status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.message()), StartsWith(path + ": "));
    second->checkpointer = nullptr;
    EXPECT_EQ(Values(second->store->all_values()), before);
    EXPECT_EQ(second->trainer->steps_done(), 0);
    EXPECT_EQ(second->trainer->learning_rate(), 0.02);
  }
}

RunIdentity Settings() {
  return {.data = {.dataset = "synthetic", .samples = 60, .contents = 1},
          .members = {{.what = "beta1 of the optimizer",
                       .value = "0.9",
                       .may_change = MayChange::kAfterAnEpoch}}};
}

TEST(CheckpointerTest, AnEpochGoesOnWithTheSameDataAndSettingsOnly) {
  const std::string folder = Folder("settings");
  Process first(folder, 5, "adam", true, true, Settings());
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(5, true).ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  const auto resumed = [&](const RunIdentity& settings) {
    Process second(folder, 5, "adam", true, true, settings);
    const absl::Status status = second.Resume().status();
    EXPECT_EQ(second.trainer->steps_done(), status.ok() ? 5 : 0);
    EXPECT_TRUE(second.said.empty());
    return status;
  };
  EXPECT_TRUE(resumed(Settings()).ok());
  RunIdentity data = Settings(), constants = Settings();
  data.data.contents = 2;
  constants.members[0].value = "0.5";
  const std::pair<RunIdentity, const char*> others[] = {
      {data,
       "the checksum of the samples was 0000000000000001 and is now 0000000000000002; use the old "
       "value"},
      {constants, "the beta1 of the optimizer was 0.9 and is now 0.5; use the old value"}};
  for (const auto& [settings, text] : others) {
    const absl::Status status = resumed(settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("checkpoint-5.npz: epoch 1 was interrupted and cannot be continued: "));
  }
}

TEST(CheckpointerTest, TheNextEpochMayHaveOtherDataAndSettings) {
  const std::string folder = Folder("next");
  Process first(folder, 0, "adam", true, true, Settings());
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(13).ok());  // the checkpoint is of step 12, the end of an epoch
  first.checkpointer = nullptr;       // leaves the folder to others
  RunIdentity settings = Settings();
  settings.data.contents = 2;
  settings.members[0].value = "0.5";
  Process second(folder, 0, "adam", true, true, settings);
  ASSERT_TRUE(second.Resume().ok());
  EXPECT_THAT(
      second.said,
      ElementsAre("resumed run: the checksum of the samples was 0000000000000001 and is now "
                  "0000000000000002",
                  "resumed run: the beta1 of the optimizer was 0.9 and is now 0.5",
                  "resumed run: metrics are not those of before, so the best values of "
                  "early_stopping are forgotten"));
}

// Early stopping would compare the next losses with those of another kind, and end with parameters
// of that kind.
TEST(CheckpointerTest, BestValuesOfOtherMetricsAreForgotten) {
  const std::string folder = Folder("forgets");
  RunIdentity settings = Settings();
  settings.members = {{"loss", "mse"}, {"patience", "3"}, {"classes", "a, b"}};
  Process first(folder, 0, "adam", true, true, settings);
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(13).ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  const auto resumed = [&](const RunIdentity& now) {
    auto second = std::make_unique<Process>(folder, 0, "adam", true, true, now);
    const absl::Status status = second->Resume().status();
    if (!status.ok()) {
      second->said.emplace_back(status.message());
      const std::optional<NamedArgument> named = FindNamedArgument(status);
      EXPECT_EQ(named ? named->argument : "", "LoadWeights");  // for which programs have a flag
    }
    TrainingState state;
    second->schedule->AddTo(state);
    const bool knows = state.schedulers["early_stopping"][1] > 0;
    EXPECT_EQ(second->schedule->kept().size(), knows ? 1u : 0u);
    second->checkpointer = nullptr;
    return std::pair(second->said, knows);
  };
  EXPECT_EQ(resumed(settings), std::pair(std::vector<std::string>(), true));
  RunIdentity patient = settings;
  patient.members[1].value = "5";
  EXPECT_EQ(
      resumed(patient),
      std::pair(std::vector<std::string>{"resumed run: the patience was 3 and is now 5"}, true));
  RunIdentity loss = settings;
  loss.members[0] = {.what = "loss", .value = "mae", .other_metrics = OtherMetrics::kAll};
  EXPECT_FALSE(resumed(loss).second);
  EXPECT_THAT(resumed(loss).first,
              ElementsAre("resumed run: the loss was mse and is now mae", HasSubstr("forgotten")));
  loss.members[0].other_metrics = OtherMetrics::kTraining;  // early stopping watches the validation
  EXPECT_TRUE(resumed(loss).second);
  loss.members[0].other_metrics = OtherMetrics::kAll;
  loss.members[0].of_scheduler = "reduce_lr_on_plateau";  // which this run has not
  EXPECT_TRUE(resumed(loss).second);
  RunIdentity classes = settings;
  classes.members[2] = {.what = "classes", .value = "b, c", .may_change = MayChange::kNever};
  EXPECT_THAT(resumed(classes).first,
              ElementsAre(HasSubstr("the run cannot be continued: the classes was a, b and is now "
                                    "b, c; start a new run")));
}

// A cosine that has come down would be nearly up again.
TEST(CheckpointerTest, AScheduleOverTheWholeRunThatBecomesLongerIsToldOf) {
  const std::string folder = Folder("longer");
  const auto process = [&](int64_t epochs, std::shared_ptr<Scheduler> scheduler) {
    RunIdentity settings = Settings();
    settings.epochs = epochs;
    auto made = std::make_unique<Process>(folder, 0, "adam", true, true, settings);
    made->schedule = std::make_unique<Schedule>(
        *made->trainer, *made->store, *made->device,
        ScheduleOptions{.schedulers = {std::move(scheduler)}, .say = nullptr, .save = nullptr});
    made->checkpointer = std::make_unique<Checkpointer>(
        made->Parts(settings),
        CheckpointerOptions{
            .folder = CheckpointFolder(folder),
            .say = [said = &made->said](std::string_view line) { said->emplace_back(line); }});
    return made;
  };
  // Epochs of six steps, the last of which is smaller: the third begins, and is at its half.
  for (const auto& [saved, factors] :
       {std::pair(12, "0.853553 of the learning rate instead of 0.5"),
        std::pair(15, "0.777785 of the learning rate instead of 0.308658")}) {
    const bool whole = saved == 12;
    std::filesystem::remove_all(folder);
    auto first = process(4, std::make_shared<Cosine>());
    ASSERT_TRUE(first->checkpointer->Begin().ok());
    ASSERT_TRUE(first->Train(whole ? saved + 1 : saved, /*saves=*/!whole).ok());
    first = nullptr;
    auto same = process(4, std::make_shared<Cosine>());
    ASSERT_TRUE(same->Resume().ok());
    EXPECT_EQ(same->trainer->steps_done(), saved);
    EXPECT_TRUE(same->said.empty());
    same = nullptr;
    auto longer = process(8, std::make_shared<Cosine>());
    ASSERT_TRUE(longer->Resume().ok());
    EXPECT_THAT(longer->said,
                ElementsAre(absl::StrCat("resumed run: the number of epochs was 4 and is now 8: "
                                         "schedules over the whole run continue with ",
                                         factors)));
  }
}

TEST(CheckpointerTest, ACheckpointOfAnOlderVersionIsTakenWithAWarning) {
  const std::string folder = Folder("older");
  Process first(folder, 5);  // which writes none
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(5, true).ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  Process second(folder, 5, "adam", true, true, Settings(), [](int64_t) { return 0.7; });
  ASSERT_TRUE(second.Resume().ok());
  EXPECT_EQ(second.trainer->learning_rate(), 0.02);
  ASSERT_EQ(second.said.size(), 1u);
  EXPECT_THAT(second.said[0], HasSubstr("checkpoint-5.npz: was written by an older version"));
}

TEST(CheckpointerTest, TheRateFollowsTheOneThatARunBeginsWith) {
  const std::string folder = Folder("rate");
  const auto per_rank = [](double rate) {
    return [rate](int64_t ranks) { return rate / double(ranks); };
  };
  Process first(folder, 5, "adam", true, true, Settings(), per_rank(0.02));
  ASSERT_TRUE(first.checkpointer->Begin().ok());
  ASSERT_TRUE(first.Train(5).ok());
  first.trainer->set_learning_rate(0.01);  // as a schedule does
  ASSERT_TRUE(first.checkpointer->Save().ok());
  first.checkpointer = nullptr;  // leaves the folder to others
  Process same(folder, 5, "adam", true, true, Settings(), per_rank(0.02));
  ASSERT_TRUE(same.Resume().ok());
  EXPECT_EQ(same.trainer->learning_rate(), 0.01);
  EXPECT_TRUE(same.said.empty());
  same.checkpointer = nullptr;  // leaves the folder to others
  Process other(folder, 5, "adam", true, true, Settings(), per_rank(0.04));
  ASSERT_TRUE(other.Resume().ok());
  EXPECT_DOUBLE_EQ(other.trainer->learning_rate(), 0.02);
  EXPECT_THAT(other.said, ElementsAre("resumed run: the first learning rate was 0.02 and is now "
                                      "0.04; the run continues with 0.02"));
  // What it saves is of the rate that it was given.
  ASSERT_TRUE(other.checkpointer->Save().ok());
  other.checkpointer = nullptr;  // leaves the folder to others
  Process again(folder, 5, "adam", true, true, Settings(), per_rank(0.04));
  ASSERT_TRUE(again.Resume().ok());
  EXPECT_DOUBLE_EQ(again.trainer->learning_rate(), 0.02);
  EXPECT_TRUE(again.said.empty());
}

// What is newest after every epoch.
class Newest : public Callback {
 public:
  explicit Newest(const Checkpointer& checkpointer) : checkpointer_(checkpointer) {}
  absl::Status OnEpochEnd(const Pass& /*training*/, const Pass* /*validation*/) override {
    names.push_back(std::filesystem::path(checkpointer_.newest()).filename());
    return absl::OkStatus();
  }
  std::vector<std::string> names;

 private:
  const Checkpointer& checkpointer_;
};

TEST(CheckpointerTest, TheEndOfAnEpochIsNoStepWithinIt) {
  Process run(Folder("ends"), /*every_steps=*/6);  // the last of every epoch
  ASSERT_TRUE(run.checkpointer->Begin().ok());
  ASSERT_EQ(run.training->steps(), 6);
  Newest newest(*run.checkpointer);
  Callback* const callbacks[] = {run.schedule.get(), run.checkpointer.get(), &newest};
  ASSERT_TRUE(run.trainer->Train(*run.training, run.validation.get(), 3, callbacks).ok());
  EXPECT_EQ(newest.names, (std::vector<std::string>{"", "checkpoint-12.npz", "checkpoint-18.npz"}));
}

// Fails at the end of the second epoch.
class FailSecond : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* /*validation*/) override {
    return training.epoch == 1 ? absl::UnavailableError("a rank is lost") : absl::OkStatus();
  }
};

// What failed in the end of an epoch, before the schedulers' turn or after it, and was then saved
// by one rank alone, ends that epoch again: its callbacks see it, and its schedulers see it once.
TEST(CheckpointerTest, AnEndThatFailedIsDoneAgain) {
  Process whole(Folder("whole"), 0);
  ASSERT_TRUE(whole.checkpointer->Begin().ok());
  ASSERT_TRUE(whole.Train().ok());
  for (const bool before_schedule : {true, false}) {
    SCOPED_TRACE(before_schedule);
    const std::string folder = Folder(absl::StrCat("failed_end_", before_schedule));
    Process run(folder, 0);
    ASSERT_TRUE(run.checkpointer->Begin().ok());
    EpochEnds ends(*run.trainer, *run.schedule);
    FailSecond fail;
    std::vector<Callback*> callbacks = {&ends, run.schedule.get(), run.checkpointer.get()};
    callbacks.insert(callbacks.begin() + (before_schedule ? 1 : 2), &fail);
    const absl::Status trained =
        run.trainer->Train(*run.training, run.validation.get(), 12, callbacks);
    EXPECT_EQ(trained.message(), "a rank is lost");
    ASSERT_TRUE(run.checkpointer->SaveAlone(ends).ok());
    run.checkpointer = nullptr;  // leaves the folder to others

    Process again(folder, 0);
    ASSERT_EQ(Must(again.Resume()), folder + "/checkpoint-12.npz");
    EXPECT_EQ(again.trainer->epochs_done(), 1);
    ASSERT_TRUE(again.Train().ok());
    const std::vector<double> expected(whole.losses.values.begin() + 2, whole.losses.values.end());
    EXPECT_EQ(again.losses.values, expected);
    EXPECT_EQ(Values(again.store->all_values()), Values(whole.store->all_values()));
    TrainingState found, wanted;
    again.schedule->AddTo(found);
    whole.schedule->AddTo(wanted);
    EXPECT_EQ(found.schedulers, wanted.schedulers);
  }
}

// Fails where the run was stopped.
class FailStopped : public Callback {
 public:
  explicit FailStopped(const Trainer& trainer) : trainer_(trainer) {}
  absl::Status OnEpochEnd(const Pass& /*training*/, const Pass* /*validation*/) override {
    return trainer_.stopped() ? absl::UnavailableError("a rank is lost") : absl::OkStatus();
  }

 private:
  const Trainer& trainer_;
};

// With the parameters of an earlier epoch, which early stopping brings back, the last epoch cannot
// be ended again: it has ended.
TEST(CheckpointerTest, AnEndThatBroughtParametersBackIsOne) {
  Process whole(Folder("brought_back_whole"), 0);
  ASSERT_TRUE(whole.checkpointer->Begin().ok());
  ASSERT_TRUE(whole.Train().ok());
  ASSERT_LT(whole.trainer->epochs_done(), 12);
  ASSERT_TRUE(whole.schedule->restored().has_value());

  const std::string folder = Folder("brought_back");
  Process run(folder, 0);
  ASSERT_TRUE(run.checkpointer->Begin().ok());
  EpochEnds ends(*run.trainer, *run.schedule);
  FailStopped fail(*run.trainer);
  Callback* const callbacks[] = {&ends, run.schedule.get(), &fail, run.checkpointer.get()};
  EXPECT_EQ(run.trainer->Train(*run.training, run.validation.get(), 12, callbacks).message(),
            "a rank is lost");
  ASSERT_TRUE(run.checkpointer->SaveAlone(ends).ok());
  run.checkpointer = nullptr;  // leaves the folder to others

  Process again(folder, 0);
  ASSERT_NE(Must(again.Resume()), "");
  EXPECT_EQ(again.trainer->epochs_done(), whole.trainer->epochs_done());
  ASSERT_TRUE(again.Train().ok());
  EXPECT_TRUE(again.losses.values.empty()) << "nothing is left to train";
  EXPECT_EQ(Values(again.store->all_values()), Values(whole.store->all_values()));
}

TEST(CheckpointerTest, WithoutACheckpointARunBeginsAnew) {
  Process process(Folder("empty"), 5);
  const absl::StatusOr<std::string> path = process.Resume();
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, "");
}

}  // namespace
}  // namespace dtnn
