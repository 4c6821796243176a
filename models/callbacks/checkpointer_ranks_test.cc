// Ranks that each write checkpoints of their own continue from the same step.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/schedule.h"
#include "models/checkpoint/run_identity.h"
#include "models/testing/training_session.h"
#include "optim/schedulers/cosine.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kEpochs = 3;  // of 4 steps

// One rank of a process.
struct Rank {
  Rank(Communicator& communicator, const std::string& folder, const std::string& optimizer = "sgd",
       const ScheduleOptions& schedulers = {},
       const std::optional<RunIdentity>& identity = std::nullopt)
      : graph(PatternMlp()),
        session(graph, OptionsOf(communicator)),
        schedule(*session.trainer, *session.store, *session.device, schedulers),
        checkpointer(
            {&graph, session.store.get(), session.device.get(), session.trainer.get(), &schedule,
             optimizer, identity},
            {.folder = CheckpointFolder(absl::StrCat(folder, "-rank", communicator.rank())),
             .every_steps = 2,
             .say = [this](std::string_view line) { said.emplace_back(line); }}) {
    SetNumThreads(1);
    EXPECT_TRUE(session.trainer->PrepareForTraining(session.training->max_batch()).ok());
  }

  static SessionOptions OptionsOf(Communicator& communicator) {
    SessionOptions options{
        .dtype = DType::kFloat64,
        .samples = 27,
        .validation_split = 0,
        .loading = {.batch = 4, .rank = communicator.rank(), .ranks = communicator.size()}};
    options.training.communicator = &communicator;
    return options;
  }

  absl::Status Train(std::vector<Callback*> more = {}) {
    std::vector<Callback*> callbacks = {&schedule, &checkpointer};
    callbacks.insert(callbacks.end(), more.begin(), more.end());
    return session.Train(kEpochs, callbacks);
  }

  Graph graph;
  TrainingSession session;
  Schedule schedule;
  Checkpointer checkpointer;
  std::vector<std::string> said;
};

// Ends a run with a step, which is saved if it is the last of an epoch.
class EndAt : public Callback {
 public:
  EndAt(Rank& rank, int64_t step) : rank_(rank), step_(step) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (rank_.session.trainer->steps_done() != step_) return absl::OkStatus();
    rank_.session.trainer->Stop();
    return pass.step == pass.steps ? rank_.checkpointer.Save() : absl::OkStatus();
  }

 private:
  Rank& rank_;
  const int64_t step_;
};

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "checkpointer_ranks_test_" + name;
  for (int rank = 0; rank < 2; ++rank) fs::remove_all(absl::StrCat(folder, "-rank", rank));
  return folder;
}

std::string FileOf(const std::string& folder, int rank, int64_t steps) {
  return absl::StrCat(folder, "-rank", rank, "/checkpoint-", steps, ".npz");
}

// Trains two ranks until `step` is done, with the last two checkpoints left of each.
void TrainUntil(const std::string& folder, int64_t step) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Rank rank(communicator, folder);
    EndAt end(rank, step);
    EXPECT_TRUE(rank.checkpointer.Begin().ok());
    return rank.Train({&end});
  });
  ASSERT_TRUE(status.ok()) << status;
}

// Whether a folder holds checkpoints of more steps.
bool HasNewer(const std::string& folder, int rank, int64_t steps) {
  for (int64_t more = steps + 1; more < 100; ++more) {
    if (fs::exists(FileOf(folder, rank, more))) return true;
  }
  return false;
}

// Resumes on two ranks and trains to the end; returns rank 0's parameters.
std::vector<double> Resumed(const std::string& folder, int64_t expected_steps) {
  std::vector<double> values;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Rank rank(communicator, folder);
    const absl::StatusOr<std::string> path = rank.checkpointer.Resume();
    EXPECT_TRUE(path.ok()) << path.status();
    EXPECT_TRUE(rank.checkpointer.SetAsideNewer().ok());
    EXPECT_EQ(rank.session.trainer->steps_done(), expected_steps);
    EXPECT_FALSE(HasNewer(folder, communicator.rank(), expected_steps)) << "must be given up";
    if (expected_steps > 0) {
      EXPECT_EQ(path.value_or(""), FileOf(folder, communicator.rank(), expected_steps));
    }
    const absl::Status trained = rank.Train();
    if (communicator.rank() == 0) values = Values(rank.session.store->all_values());
    return trained;
  });
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

TEST(CheckpointerRanksTest, RanksGoOnFromTheNewestThatAllHave) {
  const std::vector<double> whole = Resumed(Folder("whole"), 0);
  const std::string folder = Folder("newest");
  for (const bool damaged : {false, true}) {
    for (int rank = 0; rank < 2; ++rank) {
      Folder("newest");
      TrainUntil(folder, 6);
      const std::string newest = FileOf(folder, rank, 6);
      ASSERT_TRUE(fs::exists(newest));
      ASSERT_TRUE(fs::exists(FileOf(folder, rank, 4)));
      if (damaged) {
        fs::resize_file(newest, fs::file_size(newest) / 2);
      } else {
        fs::remove(newest);
      }
      EXPECT_EQ(Resumed(folder, 4), whole);
    }
  }
  Folder("newest");
  TrainUntil(folder, 6);
  EXPECT_EQ(Resumed(folder, 6), whole);
}

// A step takes the samples of both ranks.
TEST(CheckpointerRanksTest, ALongerRunIsToldOfByTheStepsOfAllRanks) {
  const std::string folder = Folder("longer");
  const auto run = [&](int64_t epochs, const auto& work) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      Rank rank(communicator, folder, "sgd", {.schedulers = {std::make_shared<Cosine>()}},
                RunIdentity{.epochs = epochs});
      return work(rank);
    });
    ASSERT_TRUE(status.ok()) << status;
  };
  run(kEpochs, [](Rank& rank) {
    EndAt end(rank, 6);  // in the middle of the second epoch
    EXPECT_TRUE(rank.checkpointer.Begin().ok());
    return rank.Train({&end});
  });
  run(2 * kEpochs, [](Rank& rank) {
    EXPECT_TRUE(rank.checkpointer.Resume().ok());
    EXPECT_THAT(rank.said,
                ElementsAre(HasSubstr("continue with 0.853553 of the learning rate instead of "
                                      "0.5")));
    return absl::OkStatus();
  });
}

TEST(CheckpointerRanksTest, OnlyTheRankOfADamagedFileWarnsOfIt) {
  const std::string folder = Folder("warnings");
  TrainUntil(folder, 6);
  const std::string damaged = FileOf(folder, 1, 6);
  fs::resize_file(damaged, fs::file_size(damaged) / 2);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Rank rank(communicator, folder);
    EXPECT_TRUE(rank.checkpointer.Resume().ok());
    if (communicator.rank() == 0) {
      EXPECT_THAT(rank.said, IsEmpty());
    } else {
      EXPECT_THAT(rank.said, ElementsAre(AllOf(HasSubstr(damaged),
                                               HasSubstr("trying the previous checkpoint"))));
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckpointerRanksTest, ARankThatHadEndedTheEpochDoesNotGoOnAlone) {
  const std::vector<double> whole = Resumed(Folder("whole"), 0);
  const std::string behind = Folder("behind"), before = Folder("before");
  TrainUntil(behind, 5);  // the epoch's end is 4
  TrainUntil(before, 4);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string folder = Folder("mixed");
    fs::copy(absl::StrCat(before, "-rank", rank), absl::StrCat(folder, "-rank", rank));
    fs::copy(absl::StrCat(behind, "-rank", 1 - rank), absl::StrCat(folder, "-rank", 1 - rank));
    ASSERT_TRUE(fs::exists(FileOf(folder, 0, 4)) && fs::exists(FileOf(folder, 1, 4)));
    EXPECT_EQ(Resumed(folder, 2), whole);
  }
}

// Same steps, but one had ended the epoch, and nothing before that: the run begins anew.
TEST(CheckpointerRanksTest, WhereNothingIsCommonAllIsGivenUp) {
  const std::vector<double> whole = Resumed(Folder("whole"), 0);
  const std::string behind = Folder("behind"), before = Folder("before"), mixed = Folder("mixed");
  TrainUntil(behind, 5);  // the epoch's end is 4
  TrainUntil(before, 4);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string from = rank == 0 ? behind : before;
    fs::create_directories(absl::StrCat(mixed, "-rank", rank));
    fs::copy_file(FileOf(from, rank, 4), FileOf(mixed, rank, 4));
  }
  EXPECT_EQ(Resumed(mixed, 0), whole);
}

absl::Status ResumeOnly(const std::string& folder, const std::string& optimizer_of_1 = "sgd") {
  return RunRanks(2, [&](Communicator& communicator) {
    Rank rank(communicator, folder, communicator.rank() == 1 ? optimizer_of_1 : "sgd");
    const absl::Status status = rank.checkpointer.Resume().status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(rank.session.trainer->steps_done(), 0);
    EXPECT_TRUE(communicator.Barrier().ok()) << "the ranks can still talk";
    return communicator.rank() == 0 ? status : absl::OkStatus();
  });
}

TEST(CheckpointerRanksTest, ARankWithoutIsNamed) {
  const std::string folder = Folder("without");
  TrainUntil(folder, 6);
  const absl::Status other = ResumeOnly(folder, "adam");
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("rank 1 cannot read its checkpoint, but other ranks have"));
  fs::remove(FileOf(folder, 0, 6));
  fs::remove(FileOf(folder, 1, 4));
  absl::Status status = ResumeOnly(folder);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 has no checkpoint of 4 steps or fewer, but other ranks have"));
  fs::remove(FileOf(folder, 0, 4));
  status = ResumeOnly(folder);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0 has no checkpoint, but other ranks have"));
  fs::remove(FileOf(folder, 1, 6));
  Resumed(folder, 0);
}

}  // namespace
}  // namespace dtnn
