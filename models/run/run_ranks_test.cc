#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/loading/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunRanksTest = RunFixture;

TEST_F(RunRanksTest, RanksTrainOneModel) {
  std::vector<float> parameters[2];
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    RunOptions options = Short(2);
    options.ranks.parallel = Parallel::kData;
    options.output.history = In("ranks.csv");
    const auto run = TrainingRun::Create(options, objects);
    if (!run.ok()) return run.status();
    absl::Status status = (*run)->Fit();
    const int rank = communicator.rank();
    parameters[size_t(rank)] = Parameters(**run);
    if (status.ok()) status = (*run)->Save(In(rank == 0 ? "rank0.npz" : "rank1.npz"));
    return status;
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(parameters[0], parameters[1]);
  EXPECT_FALSE(parameters[0].empty());
  EXPECT_EQ(std::ranges::count(Read("ranks.csv"), '\n'), 3) << "rank 0 writes for both";
  EXPECT_TRUE(std::filesystem::exists(In("rank0.npz")));
  EXPECT_FALSE(std::filesystem::exists(In("rank1.npz")));
}

TEST_F(RunRanksTest, FilesSayTheRateThatTheRanksBeginWith) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    RunOptions options = Short(1);
    options.ranks.parallel = Parallel::kData;
    options.optimizer.learning_rate = 0.01;
    options.optimizer.learning_rate_scaling = RateScaling::kMultiply;
    options.output.model = In("ranks.npz");
    options.checkpoint.folder = In("state");
    const auto run = TrainingRun::Create(options, objects);
    return run.ok() ? (*run)->Execute() : run.status();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_DOUBLE_EQ(Model("ranks.npz").description.training.learning_rate, 0.02);
  ArrayFileReader checkpoint =
      Must(ArrayFileReader::Open(Must(CheckpointFolder(In("state")).NewestPath()).value_or("")));
  EXPECT_DOUBLE_EQ(Must(ReadCheckpointInfo(checkpoint)).training.learning_rate, 0.02);
}

TEST_F(RunRanksTest, ACommunicatorOfSeveralRanksNeedsDataParallelism) {
  EXPECT_FALSE(RunRanks(2, [&](Communicator& communicator) {
                 RunObjects objects = Objects();
                 objects.communicator = &communicator;
                 const absl::Status status = TrainingRun::Create(Short(1), objects).status();
                 EXPECT_FALSE(status.ok());
                 if (communicator.rank() == 0) {
                   EXPECT_THAT(std::string(status.message()),
                               HasSubstr("RunOptions::ranks.parallel=sequential: 2 ranks"));
                 }
                 return status;
               }).ok());
}

TEST_F(RunRanksTest, MeasureTogetherAndRefuseTogether) {
  NamedMetrics metrics[2];
  const auto other = Patterns(), larger = Patterns(/*side=*/9);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    RunOptions options = Short(1);
    options.training.batch = 10;
    options.ranks.parallel = Parallel::kData;
    const auto run = TrainingRun::Create(options, objects);
    if (!run.ok()) return run.status();
    // Only one of them sees data that do not fit.
    const Dataset& seen = communicator.rank() == 1 ? *larger : *other;
    EXPECT_FALSE((*run)->Evaluate(seen).ok());
    const absl::Status trained = (*run)->Fit();
    if (!trained.ok()) return trained;
    const auto averages = (*run)->Evaluate(*other);
    if (!averages.ok()) return averages.status();
    EXPECT_EQ(averages->samples(), 40) << "of both";
    metrics[communicator.rank()] = averages->Values();
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(metrics[0], metrics[1]);
  const auto alone = Begin(Short(1));
  Must(alone->Fit());
  EXPECT_NEAR(metrics[0][0].second, Must(alone->Evaluate()).Value(0), 1e-3);
}

// Where each rank has data of its own, one may have none for a test.
TEST_F(RunRanksTest, ATestWithoutSamplesIsRefusedWhereRanksReadTheSameData) {
  const std::shared_ptr<const Dataset> none =
      Must(OpenDataset("synthetic", {.synthetic = {.train_samples = 120,
                                                   .test_samples = 0,
                                                   .sample = data_->sample(),
                                                   .classes = 3,
                                                   .pattern = SyntheticPattern::kClasses}}));
  for (const bool shared : {true, false}) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      RunObjects objects = Objects();
      objects.communicator = &communicator;
      RunOptions options = Short(1);
      options.ranks.parallel = Parallel::kData;
      options.ranks.shared_storage = shared;
      const auto run = TrainingRun::Create(options, objects);
      if (!run.ok()) return run.status();
      const auto averages = (*run)->Evaluate(shared || communicator.rank() == 1 ? *none : *data_);
      EXPECT_EQ(averages.ok(), !shared) << averages.status();
      if (averages.ok()) {
        EXPECT_EQ(averages->samples(), 40);
      }
      if (shared && communicator.rank() == 0) {
        EXPECT_THAT(Message(averages.status()), HasSubstr("has no test samples"));
      }
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// A rank that writes after rank 0 is gone, or whose state others take over, deletes that file when
// there is a better model: of the plain name there is one of another run.
TEST_F(RunRanksTest, AllRanksKnowTheFileOfTheBestModel) {
  RunOptions options = Short(1);
  options.schedule = {.schedulers = {{"model_checkpoint"}},
                      .keep_best = {.every_epochs = 1},
                      .model_folder = In("models")};
  Must(Begin(options)->Fit());
  options.ranks.parallel = Parallel::kData;
  options.sync.model_steps = ModelSteps::Never();  // then every rank has checkpoints
  options.checkpoint.folder = In("state$rank");
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    const auto run = TrainingRun::Create(options, objects);
    return run.ok() ? (*run)->Fit() : run.status();
  });
  ASSERT_TRUE(status.ok()) << status;
  const auto files = [&](const std::string& rank) {
    const std::optional<std::string> newest =
        Must(CheckpointFolder(In("state" + rank)).NewestPath());
    ArrayFileReader checkpoint = Must(ArrayFileReader::Open(newest.value_or("")));
    return Must(ReadCheckpointInfo(checkpoint)).training.files;
  };
  ASSERT_EQ(files("0").size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(In("models/") + files("0").begin()->second));
  EXPECT_EQ(files("1"), files("0"));
  const std::filesystem::directory_iterator folder(In("models"));
  EXPECT_EQ(std::distance(begin(folder), end(folder)), 2) << "the other run's is there, too";
}

TEST_F(RunRanksTest, NoRankWaitsForTheNameOfAModelThatCannotBeWritten) {
  RunOptions options = Short(2);
  options.schedule = {.schedulers = {{"model_checkpoint"}},
                      .keep_best = {.every_epochs = 1},
                      .model_folder = In("models")};
  options.ranks.parallel = Parallel::kData;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    RunObjects objects = Objects();
    objects.communicator = &communicator;
    const auto run = TrainingRun::Create(options, objects);
    if (!run.ok()) return run.status();
    if (communicator.rank() == 0) std::filesystem::remove_all(In("models"));
    const absl::Status trained = (*run)->Fit();
    EXPECT_THAT(Message(trained), HasSubstr(communicator.rank() == 0 ? In("models") : "rank 0"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(RunRanksTest, EncryptedGradientsTrainTheSameModel) {
  std::ofstream(In("key")) << std::string(64, 'a') << "\n";
  std::filesystem::permissions(In("key"), std::filesystem::perms::owner_read);
  const auto train = [&](const std::string& encryption) {
    std::vector<float> parameters[2];
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      RunOptions options = Short(1);
      options.ranks.parallel = Parallel::kData;
      options.encryption = {.kind = encryption, .key_file = In("key")};
      RunObjects objects = Objects();
      objects.communicator = &communicator;
      const auto run = TrainingRun::Create(options, objects);
      if (!run.ok()) return run.status();
      absl::Status trained = (*run)->Fit();
      parameters[communicator.rank()] = Parameters(**run);
      return trained;
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(parameters[0], parameters[1]);
    return parameters[0];
  };
  const std::vector<float> plain = train(""), encrypted = train("tenseal");
  ASSERT_EQ(encrypted.size(), plain.size());
  EXPECT_NE(encrypted, plain) << "sums of ciphertexts have noise";
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(encrypted[i], plain[i], 1e-3) << i;
}

}  // namespace
}  // namespace dtnn
