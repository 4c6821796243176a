#include "models/run/prepare/run_memory.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

class RunMemoryTest : public ::testing::Test {
 protected:
  RunMemory Measure(const RunBatches& batches, const Optimizer* optimizer) const {
    const absl::StatusOr<RunMemory> memory =
        MeasureMemory(options_, graph_, CategoricalCrossEntropy(), optimizer, *context_, batches);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return memory.value_or(RunMemory());
  }

  const RunOptions options_;
  const Graph graph_ = *BuildModel("simplecnn", {.sample = ImageExtents{28, 28, 1}, .classes = 10});
  const std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  const Adam adam_;
};

TEST_F(RunMemoryTest, IsThatOfParametersAndPlans) {
  const double values = 4.0 * double(graph_.num_parameters());
  const RunMemory both = Measure({.training = 64, .testing = 100}, &adam_);
  EXPECT_EQ(both.parameters, 4 * values);  // with gradients and Adam's two
  ASSERT_TRUE(both.training && both.testing);
  EXPECT_GT(both.training->total(), 0u);
  EXPECT_EQ(both.all(), both.parameters + double(both.training->total()) +
                            double(both.testing->total()) + both.all_others());
  const RunMemory testing = Measure({.testing = 100}, nullptr);
  EXPECT_EQ(testing.parameters, values);
  EXPECT_FALSE(testing.training);
  EXPECT_EQ(testing.all(), values + double(both.testing->total()));
  const RunMemory larger = Measure({.training = 128, .testing = 100}, &adam_);
  EXPECT_GT(larger.all(), both.all() + 0.5 * double(both.training->total()));
}

double Bytes(const RunMemory& memory, const std::string& name) {
  for (const auto& [other, bytes] : memory.others) {
    if (other == name) return bytes;
  }
  return 0;
}

// Literals: of simplecnn's 101 958 numbers, all trainable, of 784-number samples.
TEST_F(RunMemoryTest, WhatIsHeldBesidesCounts) {
  RunOptions options;
  options.schedule.schedulers = {};
  const auto measure = [&](const RunBatches& batches, int ranks = 1) {
    return *MeasureMemory(options, graph_, CategoricalCrossEntropy(), &adam_, *context_, batches,
                          ranks);
  };
  const double values = 4 * 101958;
  EXPECT_EQ(measure({.training = 8}).all_others(), 0);
  EXPECT_EQ(measure({.training = 8, .ahead = 24}).all_others(), 24 * 784 * 4);
  options.schedule.schedulers = {"warm_up", "early_stopping", "model_checkpoint"};
  options.training.accumulate_steps = 3;
  RunMemory memory = measure({.training = 8});
  EXPECT_EQ(Bytes(memory, "best parameters (early_stopping)"), values);
  EXPECT_EQ(Bytes(memory, "best parameters (model_checkpoint)"), values);
  EXPECT_EQ(Bytes(memory, "accumulated gradients"), values);
  EXPECT_EQ(memory.all_others(), 3 * values);
  EXPECT_EQ(memory.all(), memory.parameters + double(memory.training->total()) + 3 * values);
  EXPECT_EQ(measure({.testing = 8}).all_others(), 0) << "a run that only tests keeps nothing";

  options.schedule.schedulers = {};
  options.training.accumulate_steps = 1;
  options.ranks.parallel = Parallel::kData;
  options.sync.compression = "fp16";
  options.sync.model_steps = 10;
  memory = measure({.training = 8}, 4);
  EXPECT_EQ(Bytes(memory, "gradients as they are exchanged"), values);  // twice two bytes
  EXPECT_EQ(Bytes(memory, "sums of models"), values);
  EXPECT_EQ(measure({.training = 8}, 1).all_others(), 0);
}

TEST_F(RunMemoryTest, SamplesOneByOneTakeSumsAndCopiesOfThreads) {
  RunOptions options;
  options.schedule.schedulers = {};
  options.training.dp_sgd_clip = options.training.dp_sgd_noise = 1;
  const auto measure = [&](int64_t batch) {
    return *MeasureMemory(options, graph_, CategoricalCrossEntropy(), &adam_, *context_,
                          {.training = batch}, 1);
  };
  const int before = NumThreads();
  SetNumThreads(1);
  const RunMemory one = measure(64);
  EXPECT_EQ(one.training->total(), Measure({.training = 1}, &adam_).training->total());
  EXPECT_EQ(one.all_others(), 3 * 8 * 101958);
  SetNumThreads(3);
  const RunMemory three = measure(64);
  EXPECT_EQ(three.all_others(),
            5 * 8 * 101958 + 2 * (2 * 4 * 101958 + double(three.training->total())));
  SetNumThreads(before);
}

TEST(CheckMemoryTest, WhatFitsPasses) {
  RunMemory memory{.parameters = 3.0 * kMega};
  memory.training = PlanMemory{.arena = 4 * kMega, .workspace = 1 * kMega};
  EXPECT_TRUE(CheckMemory(memory, {.bytes = 8 * kMega}, 1).ok());
  EXPECT_TRUE(CheckMemory(memory, {}, 64).ok());
  EXPECT_EQ(CheckMemory(memory, {.bytes = 8 * kMega - 1}, 1).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(CheckMemory(memory, {.bytes = 16 * kMega}, 2).ok());
  EXPECT_FALSE(CheckMemory(memory, {.bytes = 16 * kMega}, 3).ok());
}

TEST(CheckMemoryTest, ARefusalSaysWhatTakesHowMuchAndWhatToDo) {
  RunMemory memory{.batches = {.training = 512, .testing = 100}, .parameters = 3.0 * kMega};
  memory.training = PlanMemory{.arena = 4 * kMega, .workspace = 1 * kMega};
  memory.testing = PlanMemory{.arena = 2 * kMega};
  memory.others = {{"best parameters", 1.0 * kMega}, {"batches read ahead", 1.0 * kMega}};
  EXPECT_EQ(std::string(CheckMemory(memory, {.bytes = 5 * kMega}, 1).message()),
            "training on batches of 512 samples takes 12.0 MBytes of memory (parameters, gradients "
            "and optimizer 3.0 MBytes, activations and workspace 5.0 MBytes, the same for testing "
            "2.0 MBytes, copies and buffers 2.0 MBytes), but this machine has 5.0 MBytes left; a "
            "smaller RunOptions::training.batch takes less "
            "(RunOptions::training.accumulate_steps makes up for it), Run::Needs shows more, "
            "RunOptions::force runs anyway");
  memory.training.reset();
  memory.others.clear();
  EXPECT_EQ(
      std::string(
          CheckMemory(memory, {.bytes = 5 * kMega, .of = "the control group /g"}, 2).message()),
      "testing in batches of 100 samples takes 5.0 MBytes of memory (parameters 3.0 MBytes, "
      "activations and workspace 2.0 MBytes) on each of 2 ranks of this host, 10.0 MBytes on all, "
      "but the control group /g has 5.0 MBytes left; a smaller RunOptions::training.batch takes "
      "less, Run::Needs shows more, "
      "RunOptions::force runs anyway");
}

TEST(CheckMemoryTest, ThreadsTrainEachAndOneTests) {
  RunMemory memory{.batches = {.training = 8}, .parameters = 3.0 * kMega};
  memory.training = PlanMemory{.arena = 4 * kMega};
  memory.testing = PlanMemory{.arena = 2 * kMega};
  // 3 * (3 + 4) + 2 + 5
  EXPECT_TRUE(CheckMemoryOfThreads(memory, 5.0 * kMega, {.bytes = 28 * kMega}, 3).ok());
  const absl::Status status =
      CheckMemoryOfThreads(memory, 5.0 * kMega, {.bytes = 28 * kMega - 1}, 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()),
            "training on batches of 8 samples takes 9.0 MBytes of memory (parameters, gradients "
            "and optimizer 3.0 MBytes, activations and workspace 4.0 MBytes, the same for testing "
            "2.0 MBytes) on each of 3 threads, 28.0 MBytes with all that they share, but this "
            "machine has 28.0 MBytes left; fewer threads (OMP_NUM_THREADS) or a smaller "
            "RunOptions::training.batch take less");
}

}  // namespace
}  // namespace dtnn
