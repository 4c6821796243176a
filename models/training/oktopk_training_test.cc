// Training with the largest of all ranks' gradients.

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "optim/optimizers/oktopk.h"
#include "optim/optimizers/sgd.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;

// What rank 0 has after `epochs`; `communicator` null: without ranks.
struct Trained {
  std::vector<double> losses, accuracies, values;
};

Trained TrainWith(std::shared_ptr<const Optimizer> optimizer, int ranks, int64_t epochs,
                  SessionOptions options = {}, bool alone = false) {
  Trained trained;
  options.validation_split = 0;
  options.training.optimizer = std::move(optimizer);
  std::vector<std::vector<double>> values(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) -> absl::Status {
    SetNumThreads(1);
    SessionOptions mine = options;
    mine.loading.rank = communicator.rank();
    mine.loading.ranks = ranks;
    mine.loading.batch = 12 / ranks;
    if (!alone) mine.training.communicator = &communicator;
    TrainingSession session(PatternMlp(), mine);
    DTNN_RETURN_IF_ERROR(session.Train(epochs));
    values[size_t(communicator.rank())] = Values(session.store->all_values());
    if (communicator.rank() == 0) {
      trained.losses = session.record.losses;
      trained.accuracies = session.record.accuracies;
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  for (const auto& of_rank : values) EXPECT_EQ(of_rank, values[0]);
  trained.values = values[0];
  return trained;
}

TEST(OktopkTrainingTest, ADensityOfOneIsSgd) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int64_t accumulate : {1, 2}) {
      SessionOptions options;
      options.training.accumulate_steps = accumulate;
      options.training.clip_norm = accumulate == 2 ? 0.5 : 0;
      const Trained sgd = TrainWith(std::make_shared<Sgd>(), ranks, 3, options);
      const Trained oktopk =
          TrainWith(std::make_shared<Oktopk>(OktopkOptions{.density = 1}), ranks, 3, options);
      // Local ranks add up in the same order.
      EXPECT_TRUE(testing::Close(oktopk.values, sgd.values, 1e-6, 1e-5)) << ranks;
      if (accumulate == 1) {
        EXPECT_EQ(oktopk.values, sgd.values) << ranks;
      }
    }
  }
}

TEST(OktopkTrainingTest, FewGradientsLearnWhatAllOfThemDo) {
  const Trained sgd = TrainWith(std::make_shared<Sgd>(), 1, 25);
  ASSERT_GT(sgd.accuracies.back(), 95);
  for (const int ranks : {1, 2, 4, 6}) {
    const Trained oktopk =
        TrainWith(std::make_shared<Oktopk>(OktopkOptions{.density = 0.1}), ranks, 25);
    EXPECT_GT(oktopk.accuracies.back(), 90) << ranks << " ranks";
    EXPECT_LT(oktopk.losses.back(), 0.4 * oktopk.losses.front());
  }
}

TEST(OktopkTrainingTest, OneRankNeedsNoCommunicator) {
  const auto optimizer = std::make_shared<Oktopk>(OktopkOptions{.density = 0.1});
  EXPECT_EQ(TrainWith(optimizer, 1, 4, {}, /*alone=*/true).values,
            TrainWith(optimizer, 1, 4).values);
}

TEST(OktopkTrainingTest, Float64IsRefused) {
  SessionOptions options{.dtype = DType::kFloat64};
  options.training.optimizer = std::make_shared<Oktopk>();
  TrainingSession session(PatternMlp(), options);
  EXPECT_EQ(session.trainer->PrepareForTraining(4).code(), absl::StatusCode::kUnimplemented);
}

TEST(OktopkTrainingTest, RanksThatTakeStepsOnTheirOwnAreRefused) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) -> absl::Status {
    SessionOptions options;
    options.training.communicator = &communicator;
    options.training.optimizer = std::make_shared<Oktopk>();
    options.training.model_sync.frequency = 2;
    std::unique_ptr<DeviceContext> device = *DeviceContext::Create(Device::Cpu());
    const Graph graph = PatternMlp();
    const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
    EXPECT_EQ(Trainer::Create(graph, *store, *device, options.training).status().code(),
              absl::StatusCode::kInvalidArgument);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
