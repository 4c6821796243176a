// What ranks have left over of their gradients is in checkpoints.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "models/callbacks/checkpointer.h"
#include "models/callbacks/epoch_ends.h"
#include "models/testing/training_session.h"
#include "optim/optimizers/oktopk.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;

constexpr int64_t kEpochs = 3;  // of 4 steps

// One rank of a process; all share a folder.
struct Rank {
  Rank(Communicator& communicator, const std::string& folder)
      : graph(PatternMlp()),
        session(graph, OptionsOf(communicator)),
        schedule(*session.trainer, *session.store, *session.device, {}),
        checkpointer({&graph, session.store.get(), session.device.get(), session.trainer.get(),
                      &schedule, "oktopk"},
                     {.folder = CheckpointFolder(folder),
                      .every_steps = 1,
                      .writes = communicator.rank() == 0}),
        ends(*session.trainer, schedule) {
    SetNumThreads(1);
    EXPECT_TRUE(session.trainer->PrepareForTraining(session.training->max_batch()).ok());
  }

  static SessionOptions OptionsOf(Communicator& communicator) {
    const int ranks = communicator.size();
    SessionOptions options{
        .samples = 48,
        .validation_split = 0,
        .loading = {.batch = 12 / ranks, .rank = communicator.rank(), .ranks = ranks}};
    options.training.communicator = &communicator;
    options.training.optimizer =
        std::make_shared<Oktopk>(OktopkOptions{.density = 0.05, .tau = 5, .tau_prime = 3});
    options.training.whole_steps = true;
    return options;
  }

  std::vector<double> Residual() const { return Values(session.store->slots().back()); }

  Graph graph;
  TrainingSession session;
  Schedule schedule;
  Checkpointer checkpointer;
  EpochEnds ends;
};

class StopAt : public Callback {
 public:
  StopAt(Trainer& trainer, int64_t step) : trainer_(trainer), step_(step) {}
  absl::Status OnBatchEnd(const Pass& /*pass*/) override {
    if (trainer_.steps_done() == step_) trainer_.Stop();
    return absl::OkStatus();
  }

 private:
  Trainer& trainer_;
  const int64_t step_;
};

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "checkpointer_oktopk_test_" + name;
  fs::remove_all(folder);
  return folder;
}

// By rank, after the step that a run stops at, or at its end.
struct Left {
  std::vector<std::vector<double>> residuals, values;
};

Left TrainUntil(int ranks, const std::string& folder, bool resume, int64_t stop_at,
                bool alone = false) {
  Left left;
  left.residuals.resize(size_t(ranks));
  left.values.resize(size_t(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) -> absl::Status {
    Rank rank(communicator, folder);
    if (resume) {
      DTNN_ASSIGN_OR_RETURN(const std::string path, rank.checkpointer.Resume());
      EXPECT_NE(path, "");
    } else {
      DTNN_RETURN_IF_ERROR(rank.checkpointer.Begin());
    }
    StopAt stop(*rank.session.trainer, stop_at);
    if (stop_at > rank.session.trainer->steps_done()) {
      std::vector<Callback*> callbacks = {&rank.schedule};
      if (!alone) callbacks.push_back(&rank.checkpointer);
      callbacks.push_back(&stop);
      DTNN_RETURN_IF_ERROR(rank.session.Train(kEpochs, callbacks));
    }
    if (alone && communicator.rank() == 0)
      DTNN_RETURN_IF_ERROR(rank.checkpointer.SaveAlone(rank.ends));
    left.residuals[size_t(communicator.rank())] = rank.Residual();
    left.values[size_t(communicator.rank())] = Values(rank.session.store->all_values());
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  for (const auto& values : left.values) EXPECT_EQ(values, left.values[0]);
  return left;
}

std::vector<double> Sum(const std::vector<std::vector<double>>& residuals) {
  std::vector<double> sum(residuals[0].size());
  for (const auto& residual : residuals) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += residual[i];
  }
  return sum;
}

TEST(CheckpointerOktopkTest, AsManyRanksContinueBitForBit) {
  for (const int ranks : {1, 2, 3}) {
    const Left whole = TrainUntil(ranks, Folder("whole"), /*resume=*/false, 12);
    for (const int64_t stop_at : {1, 4, 7}) {
      const std::string folder = Folder("part");
      const Left first = TrainUntil(ranks, folder, /*resume=*/false, stop_at);
      EXPECT_NE(first.values, whole.values);
      const Left rest = TrainUntil(ranks, folder, /*resume=*/true, 12);
      EXPECT_EQ(rest.values, whole.values) << ranks << " ranks, stopped after " << stop_at;
      EXPECT_EQ(rest.residuals, whole.residuals);
    }
  }
}

TEST(CheckpointerOktopkTest, OnAnyNumberOfRanksNothingIsLost) {
  const std::string folder = Folder("three");
  const Left three = TrainUntil(3, folder, /*resume=*/false, 5);
  const std::vector<double> expected = Sum(three.residuals);
  for (const int ranks : {1, 2, 3, 4, 6}) {
    const std::string copy = Folder("copy");
    fs::copy(folder, copy);
    // Where it begins, and that it continues.
    const Left begun = TrainUntil(ranks, copy, /*resume=*/true, 5);
    EXPECT_EQ(begun.values[0], three.values[0]);
    EXPECT_TRUE(testing::Close(Sum(begun.residuals), expected, 1e-6)) << ranks;
    if (ranks >= 3) {
      EXPECT_TRUE(
          std::equal(three.residuals.begin(), three.residuals.end(), begun.residuals.begin()));
    }
    TrainUntil(ranks, copy, /*resume=*/true, 12);
  }
}

// Where others are lost, one rank's own is saved, for one rank of the next run.
TEST(CheckpointerOktopkTest, ARankThatSavesAloneKeepsItsOwn) {
  const std::string folder = Folder("alone");
  const Left left = TrainUntil(2, folder, /*resume=*/false, 3, /*alone=*/true);
  const Left begun = TrainUntil(2, folder, /*resume=*/true, 3);
  EXPECT_EQ(begun.values, left.values);
  EXPECT_EQ(begun.residuals[0], left.residuals[0]);
  EXPECT_EQ(begun.residuals[1], std::vector<double>(left.residuals[1].size()));
}

}  // namespace
}  // namespace dtnn
