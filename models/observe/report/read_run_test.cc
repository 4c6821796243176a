#include "models/observe/report/read_run.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/federation_tags.h"
#include "models/serving/saved_model.h"
#include "models/zoo/zoo.h"
#include "tensor/files/array_file.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kHistory[] = "epoch,learning_rate,mse\n1,0.1,3\n2,0.1,1\n";

class ReadRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/run";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    ASSERT_TRUE(store_->AllocateForTraining(*context_, 1).ok());
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Writes the checkpoint of a run that has done so many epochs, of 10 steps each, and 4 more
  // steps.
  std::string Checkpoint(int64_t epochs) {
    model_.description.training = {.dataset = "mnist",
                                   .epochs = epochs,
                                   .optimizer = "adam",
                                   .metrics = {{"mse", 0.5}, {"val_mse", double(epochs)}}};
    RunState run = {.optimizer = "adam", .tags = ModelTags(model_)};
    run.training = {.epoch = epochs, .step_in_epoch = 4, .steps_done = 10 * epochs + 4};
    run.training.random_seed = 7;
    run.training.sampler = {.batch = 64, .ranks = 2};
    run.identity = {.data = {.dataset = "mnist", .samples = 640},
                    .learning_rate = 0.25,
                    .members = {{"beta1 of the optimizer", "0.9"}, {"--clip-norm", "2"}}};
    const std::string path =
        folder_ + "/checkpoint-" + std::to_string(run.training.steps_done) + ".npz";
    EXPECT_TRUE(SaveCheckpoint(path, model_.graph, *store_, *context_, run).ok());
    return path;
  }

  std::string folder_;
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  SavedModel model_ = {
      .graph = *BuildModel("simplemlp", {.sample = ImageExtents{2, 2, 1}, .classes = 2})};
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(model_.graph, *context_, DType::kFloat32, 1);
};

std::string ErrorOf(const std::string& path) {
  return std::string(ReadRun(path).status().message());
}

TEST_F(ReadRunTest, AHistoryHasAllEpochs) {
  const auto run = ReadRun(Write("h.csv", kHistory));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->name, folder_ + "/h.csv");
  EXPECT_EQ(run->epochs.size(), 2u);
  EXPECT_THAT(run->settings, IsEmpty());
}

TEST_F(ReadRunTest, ACheckpointHasSettingsAndItsLastEpoch) {
  const auto run = ReadRun(Checkpoint(3));
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->epochs.size(), 1u);
  EXPECT_EQ(run->epochs[0].epoch, 3);
  EXPECT_THAT(run->epochs[0].metrics, ElementsAre(Pair("mse", 0.5), Pair("val_mse", 3)));
  EXPECT_THAT(run->settings,
              ElementsAre(Pair("network", "simplemlp"), Pair("optimizer", "adam"),
                          Pair("first learning rate", "0.25"), Pair("data set", "mnist"),
                          Pair("samples of its training split", "640"),
                          Pair("beta1 of the optimizer", "0.9"), Pair("--clip-norm", "2"),
                          Pair("batch of a rank", "64"), Pair("ranks", "2"), Pair("seed", "7"),
                          Pair("done", "3 epochs and 4 steps")));
}

// Its aggregator has neither an optimizer nor batches.
TEST_F(ReadRunTest, TheStateOfAFederationHasItsStrategyAndRounds) {
  const NamedTexts tags = {{kStrategyTag, "wavg"}, {kProtectionTag, "no encryption"}};
  RunState run = {.optimizer = "federation", .tags = tags};
  run.training = {.epoch = 3, .steps_done = 3};
  run.training.random_seed = 7;
  ASSERT_TRUE(
      SaveCheckpoint(folder_ + "/checkpoint-3.npz", model_.graph, *store_, *context_, run).ok());
  const auto alone = ReadRun(folder_);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->settings,
              ElementsAre(Pair("network", "simplemlp"), Pair("strategy of the federation", "wavg"),
                          Pair("protection of updates", "no encryption"), Pair("seed", "7"),
                          Pair("done", "3 rounds"),
                          Pair("metrics", HasSubstr("history that the aggregator"))));
  Write("history.csv", kHistory);
  EXPECT_THAT(ReadRun(folder_)->settings, Not(Contains(Pair("metrics", _))));
  const std::string ledger = folder_ + "/privacy-ledger.npz";
  ASSERT_TRUE(WriteArrayFile(ledger, {}, tags).ok());
  EXPECT_EQ(ErrorOf(ledger), ledger +
                                 ": is a file beside the checkpoints of a federation; name their "
                                 "folder, one of them, or the aggregator's history");
}

TEST_F(ReadRunTest, AFolderHasTheNewestCheckpointAndTheHistory) {
  Checkpoint(9);
  Checkpoint(10);  // 104 steps, which is before 94 in the order of the alphabet
  const auto alone = ReadRun(folder_);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->settings, Contains(Pair("done", "10 epochs and 4 steps")));
  EXPECT_EQ(alone->epochs.at(0).epoch, 10);
  Write("history.csv", kHistory);
  const auto both = ReadRun(folder_);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->settings, Contains(Pair("done", "10 epochs and 4 steps")));
  EXPECT_EQ(both->epochs.size(), 2u) << "those of the history";
  Write("other.jsonl", "");
  EXPECT_THAT(ErrorOf(folder_), HasSubstr(": has 2 files that may be its history"));
}

TEST_F(ReadRunTest, TheNamedHistoryOfAFolderCountsBesideOtherFiles) {
  Write("trace.csv", "name,calls\n");
  EXPECT_TRUE(absl::IsNotFound(ReadRun(folder_, "history.csv").status()));
  Write("history.csv", kHistory);
  const auto alone = ReadRun(folder_, "history.csv");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->name, folder_);
  EXPECT_EQ(alone->epochs.size(), 2u);
  Checkpoint(9);
  const auto both = ReadRun(folder_, "history.csv");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->epochs.size(), 2u);
  EXPECT_THAT(both->settings, Contains(Pair("done", "9 epochs and 4 steps")));
  EXPECT_TRUE(absl::IsNotFound(ReadRun(folder_ + "/none", "history.csv").status()));
}

TEST_F(ReadRunTest, ASavedModelSaysHowItWasTrained) {
  Checkpoint(3);
  const std::string path = folder_ + "/model.safetensors";
  ASSERT_TRUE(SaveModel(path, model_, *store_, *context_).ok());
  const auto run = ReadRun(path);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->epochs.at(0).epoch, 3);
  EXPECT_THAT(run->settings, Contains(Pair("data set", "mnist")));
  EXPECT_THAT(run->test, IsEmpty());
}

TEST_F(ReadRunTest, HistoriesAndModelsHaveResultsOnTheTestData) {
  const auto history =
      ReadRun(Write("h.csv", "epoch,learning_rate,mse,test_mse\n1,0.1,3,\n2,0.1,1,2\n"));
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(history->test, ElementsAre(Pair("mse", 2)));
  Checkpoint(3);
  model_.description.training.metrics.emplace_back("test_mse", 0.75);
  const std::string path = folder_ + "/model.safetensors";
  ASSERT_TRUE(SaveModel(path, model_, *store_, *context_).ok());
  const auto model = ReadRun(path);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->test, ElementsAre(Pair("mse", 0.75)));
  EXPECT_THAT(model->epochs.at(0).metrics, ElementsAre(Pair("mse", 0.5), Pair("val_mse", 3)));
}

TEST_F(ReadRunTest, WhatIsNoRunIsNamed) {
  EXPECT_EQ(ErrorOf(folder_), folder_ +
                                  ": the folder has neither a history (.csv, .jsonl) nor a "
                                  "checkpoint (checkpoint-<steps>.npz)");
  const std::string weights = folder_ + "/weights.npz";
  ASSERT_TRUE(SaveWeights(weights, model_.graph, *store_, *context_).ok());
  EXPECT_THAT(ErrorOf(weights), StartsWith(weights + ": has weights, but does not say how"));
  EXPECT_THAT(ErrorOf("/no/such.npz"), StartsWith("/no/such.npz: "));
  EXPECT_THAT(ErrorOf("x.json"), StartsWith("x.json: "));
  const std::string first = Write("a.csv", kHistory), second = Write("b.csv", kHistory);
  EXPECT_THAT(ErrorOf(folder_),
              AllOf(StartsWith(folder_ + ": has 2 files that may be its history, "),
                    HasSubstr(first), HasSubstr(second), EndsWith("name one of them")));
  std::filesystem::remove(first);
  std::filesystem::remove(second);
  // Cut in the middle, as a full disk or a broken copy leaves them.
  const std::string checkpoint = Checkpoint(1);
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  EXPECT_THAT(ErrorOf(checkpoint), StartsWith(checkpoint + ": "));
  EXPECT_THAT(ErrorOf(folder_), StartsWith(checkpoint + ": "));
}

// What cannot be read is not a folder without runs.
TEST_F(ReadRunTest, AFolderThatCannotBeReadSaysWhy) {
  Write("history.csv", kHistory);
  std::string error;
  {
    const testing::NoNewDescriptors none;
    error = ErrorOf(folder_);
  }
  EXPECT_EQ(error, folder_ + ": cannot read the folder: Too many open files");
  EXPECT_TRUE(ReadRun(folder_).ok());
}

}  // namespace
}  // namespace dtnn
