// Steps on a GPU: nothing in them waits for the host, and one that was captured is the same, bit
// for bit, as one that runs call by call. On a simulated GPU, and on a real one; that is skipped,
// with the reason, where there is none.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/gpu/runner.h"
#include "kernels/testing/gpu_testing.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/step/step_engine.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"
#include "tensor/gpu/simulated/simulated_driver.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Get;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;

constexpr int64_t kLargest = 5;

// Convolution, running statistics, pooling, dropout.
Graph Network() {
  GraphBuilder b("small", TensorFormat::kNCHW);
  b.Input({6, 6, 2}).Conv2d(3, {.kernel = 3, .padding = 1}).BatchNorm().Relu();
  b.MaxPool2d({.window = 2, .stride = 2}).Flatten().Dropout(0.4).Fc(4).Softmax();
  return *b.Build();
}

Batch RandomBatch(uint64_t seed, int64_t samples) {
  std::vector<double> classes;
  for (int64_t i = 0; i < samples; ++i) classes.push_back(double((seed + uint64_t(i)) % 4));
  return {.x = RandomTensor(DType::kFloat32, Shape{samples, 2, 6, 6}, seed),
          .targets = testing::TensorOf(DType::kInt32, Shape{samples}, classes),
          .count = samples,
          .global_count = samples};
}

struct Training {
  bool graphs = true;
  int64_t accumulate_steps = 1;
  double clip_norm = 0;
  bool whole_steps = false;
  std::shared_ptr<const Optimizer> optimizer = std::make_shared<Adam>();
};

struct Trained {
  Trained(DeviceContext& context, const Training& setup)
      : device(context), store(*ParameterStore::Create(Network(), device, DType::kFloat32, 3)) {
    TrainerOptions options;
    options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {std::make_shared<CategoricalAccuracy>()}};
    options.optimizer = setup.optimizer;
    options.graphs = setup.graphs;
    options.accumulate_steps = setup.accumulate_steps;
    options.clip_norm = setup.clip_norm;
    options.whole_steps = setup.whole_steps;
    engine = *StepEngine::Create(Network(), *store, device, options);
    averages = engine->NewAverages();
    EXPECT_EQ(engine->PrepareForTraining(kLargest), absl::OkStatus());
  }
  absl::Status Step(const Batch& batch, bool last = false) {
    return engine->Step(batch, &averages, last);
  }
  // Everything that training leaves.
  std::vector<std::vector<double>> Outcome() {
    std::vector<std::vector<double>> outcome = {
        Values(Get(device, store->all_values())),
        averages.ToDoubles(),
        {engine->gradient_norm().value_or(-1), engine->mean_gradient_norm().value_or(-1)}};
    for (const Tensor& slot : store->slots()) outcome.push_back(Values(Get(device, slot)));
    return outcome;
  }

  DeviceContext& device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<StepEngine> engine;
  MetricAverages averages;
};

// Two epochs of six steps, the last of them smaller, each with a rate of its own; the mean loss
// after every step, as far as it is known, and what is left at the end.
std::pair<std::vector<double>, std::vector<std::vector<double>>> TwoEpochs(DeviceContext& device,
                                                                           const Training& setup) {
  Trained run(device, setup);
  std::vector<double> losses;
  for (uint64_t step = 0; step < 12; ++step) {
    const bool last = step % 6 == 5;
    run.engine->set_learning_rate(0.01 / double(step + 1));
    EXPECT_EQ(run.Step(RandomBatch(step, last ? 3 : kLargest), last), absl::OkStatus());
    if (run.averages.samples() > 0) losses.push_back(run.averages.Value(0));
    if (last) {
      EXPECT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    }
  }
  EXPECT_EQ(run.averages.samples(), 2 * (5 * kLargest + 3));
  if (setup.graphs && device.device().type != DeviceType::kCpu) {
    EXPECT_EQ(run.engine->graphs().reason(), "");
    EXPECT_GE(run.engine->graphs().captured(), 2) << "one per size of batch";
  }
  return {losses, run.Outcome()};
}

class StepEngineGpuTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
  }
  std::unique_ptr<DeviceContext> gpu_;
};

TEST_P(StepEngineGpuTest, ACapturedStepHasTheBitsOfItsCalls) {
  for (const Training& setup :
       {Training{}, Training{.clip_norm = 0.5}, Training{.accumulate_steps = 2, .clip_norm = 0.5},
        Training{.optimizer = std::make_shared<Adam>(AdamOptions{.average_decay = 0.9})},
        Training{.whole_steps = true, .optimizer = std::make_shared<Sgd>()}}) {
    Training eager = setup;
    eager.graphs = false;
    EXPECT_EQ(TwoEpochs(*gpu_, setup), TwoEpochs(*gpu_, eager))
        << "accumulated over " << setup.accumulate_steps << ", clipped to " << setup.clip_norm;
  }
}

// Also what the last update has left, which was not read yet.
TEST_P(StepEngineGpuTest, AFailureLeavesEverythingAsAfterTheLastUpdate) {
  for (const int64_t accumulate_steps : {1, 3}) {
    for (uint64_t good = 0; good < uint64_t(accumulate_steps); ++good) {
      const Training setup = {
          .accumulate_steps = accumulate_steps, .clip_norm = 0.5, .whole_steps = true};
      Trained whole(*gpu_, setup), failing(*gpu_, setup);
      const auto train = [](Trained& run, uint64_t begin, uint64_t end) {
        for (uint64_t step = begin; step < end; ++step) {
          EXPECT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
        }
      };
      train(whole, 0, 3);
      train(failing, 0, 3 + good);
      Batch bad = RandomBatch(9, kLargest);
      bad.targets.data<int32_t>()[1] = 4;
      EXPECT_EQ(failing.Step(bad).code(), absl::StatusCode::kInvalidArgument);
      for (Trained* run : {&whole, &failing}) {
        EXPECT_EQ(run->engine->CatchUp(run->averages), absl::OkStatus());
      }
      EXPECT_EQ(failing.averages.samples(), 3 * kLargest) << accumulate_steps << ", " << good;
      EXPECT_EQ(failing.Outcome(), whole.Outcome()) << accumulate_steps << ", " << good;
      train(whole, 3, 6);
      train(failing, 3, 6);
      for (Trained* run : {&whole, &failing}) {
        EXPECT_EQ(run->engine->CatchUp(run->averages), absl::OkStatus());
      }
      EXPECT_EQ(failing.Outcome(), whole.Outcome()) << accumulate_steps << ", " << good;
    }
  }
}

// Its graph names the memory of the plan that larger batches replace.
TEST_P(StepEngineGpuTest, ACapturedStepIsForgottenWithItsPlan) {
  const auto outcome = [&](bool graphs) {
    Trained run(*gpu_, {.graphs = graphs});
    uint64_t step = 0;
    for (const int64_t largest : {kLargest, 3 * kLargest}) {
      EXPECT_EQ(run.engine->PrepareForTraining(largest), absl::OkStatus());
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(run.Step(RandomBatch(step++, kLargest), i == 3), absl::OkStatus());
      }
      EXPECT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    }
    return run.Outcome();
  };
  EXPECT_EQ(outcome(true), outcome(false));
}

TEST_P(StepEngineGpuTest, FollowsTheCpu) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const Training setup = {.clip_norm = 0.5};
  const auto expected = TwoEpochs(*cpu, setup).second, actual = TwoEpochs(*gpu_, setup).second;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(testing::Close(actual[i], expected[i], 1e-3)) << "part " << i;
  }
}

TEST_P(StepEngineGpuTest, ShowsTheAverageThatACpuKeeps) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const Training setup = {.optimizer = std::make_shared<Sgd>(SgdOptions{.average_decay = 0.5})};
  std::vector<std::vector<double>> shown[2];
  for (DeviceContext* device : {cpu.get(), gpu_.get()}) {
    Trained run(*device, setup);
    ASSERT_EQ(run.engine->PrepareForEvaluation(kLargest), absl::OkStatus());
    MetricAverages evaluated = run.engine->NewAverages();
    for (uint64_t step = 0; step < 6; ++step) {
      ASSERT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
      if (step % 2 == 0) continue;
      ASSERT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
      ASSERT_EQ(run.engine->Evaluate(RandomBatch(9, kLargest), "the test", evaluated),
                absl::OkStatus());
    }
    shown[device == gpu_.get()] = run.Outcome();
    shown[device == gpu_.get()].push_back(evaluated.ToDoubles());
  }
  for (size_t i = 0; i < shown[0].size(); ++i) {
    EXPECT_TRUE(testing::Close(shown[1][i], shown[0][i], 1e-3)) << "part " << i;
  }
}

// Every context has streams of its own, whose delays are drawn anew.
TEST_P(StepEngineGpuTest, FiftySeedsOfDelaysGiveTheSameBits) {
  const auto expected = TwoEpochs(*gpu_, {.clip_norm = 0.5});
  for (int seed = 0; seed < 50; ++seed) {
    const auto context = *DeviceContext::Create(GetParam());
    ASSERT_EQ(TwoEpochs(*context, {.clip_norm = 0.5}), expected) << seed;
  }
}

// Dropout: the same batch again and again has another loss each time, whose first ones stand in
// the sums.
TEST_P(StepEngineGpuTest, DropoutDrawsAnewInEveryReplay) {
  Trained run(*gpu_, {.optimizer = std::make_shared<Sgd>()});
  run.engine->set_learning_rate(0);
  std::vector<double> sums;
  for (int step = 0; step < 8; ++step) {
    ASSERT_EQ(run.Step(RandomBatch(1, kLargest)), absl::OkStatus());
    ASSERT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    sums.push_back(run.averages.ToDoubles()[0]);
  }
  for (size_t i = sums.size(); i-- > 1;) sums[i] -= sums[i - 1];
  std::ranges::sort(sums);
  EXPECT_EQ(std::ranges::adjacent_find(sums, [](double a, double b) { return b - a < 1e-9; }),
            sums.end());
}

// Noticed a step late, told with its own step; no parameter has followed it, nor the steps after.
// The copies of weights in 16 bits are made anew in every replay, also where an evaluation had made
// them just before the step that was captured.
TEST_P(StepEngineGpuTest, AnEvaluationBeforeTheCaptureChangesNoReplay) {
  ASSERT_EQ(gpu_->SetMathMode(MathMode::kBf16), absl::OkStatus());
  const auto train = [&](bool graphs) {
    Trained run(*gpu_, {.graphs = graphs});
    EXPECT_EQ(run.engine->PrepareForEvaluation(kLargest), absl::OkStatus());
    MetricAverages evaluated = run.engine->NewAverages();
    for (uint64_t step = 0; step < 6; ++step) {
      EXPECT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
      if (step > 0) continue;
      EXPECT_EQ(run.engine->Evaluate(RandomBatch(9, kLargest), "validation", evaluated),
                absl::OkStatus());
    }
    EXPECT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    return run.Outcome();
  };
  EXPECT_EQ(train(/*graphs=*/true), train(/*graphs=*/false));
}

TEST_P(StepEngineGpuTest, DivergenceIsToldWithItsStepAndChangesNothing) {
  for (const bool graphs : {true, false}) {
    Trained run(*gpu_, {.graphs = graphs});
    run.engine->set_learning_rate(0.25);
    for (uint64_t step = 0; step < 4; ++step) {
      ASSERT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
    }
    const std::vector<double> before = Values(Get(*gpu_, run.store->values()));
    Batch bad = RandomBatch(4, kLargest);
    bad.x.data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_EQ(run.Step(bad), absl::OkStatus()) << "not known yet";
    const absl::Status status = run.Step(RandomBatch(5, kLargest));
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the loss is nan after 4 steps: training has diverged (noticed a step "
                          "later; with the next batch: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("lower the learning rate, now 0.25"));
    EXPECT_EQ(Values(Get(*gpu_, run.store->values())), before);
    EXPECT_EQ(run.averages.samples(), 4 * kLargest);
    // At the end of a pass no step comes after it.
    ASSERT_EQ(run.Step(bad), absl::OkStatus());
    EXPECT_EQ(run.engine->CatchUp(run.averages).code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(Values(Get(*gpu_, run.store->values())), before);
    // A caller that continues all the same can.
    ASSERT_EQ(run.Step(RandomBatch(6, kLargest)), absl::OkStatus());
    EXPECT_NE(Values(Get(*gpu_, run.store->values())), before);
  }
}

INSTANTIATE_TEST_SUITE_P(, StepEngineGpuTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

// A kernel that runs until it is let go.
std::atomic<bool> let_go = false;
struct Hold {
  float* x;

  void Declare(int64_t, gpu::Accesses& accesses) { accesses.Writes(x, 1); }
  void operator()(int64_t) const {
    while (!let_go) std::this_thread::yield();
  }
};

// A step is queued, whole, while the GPU has not even come to it: nothing in it waits for the
// host, nor the host for it. (A host that waited would hang here.)
TEST(StepEngineSimulatedTest, AStepIsQueuedWithoutWaitingForAnything) {
  for (const bool graphs : {true, false}) {
    const auto device = *DeviceContext::Create(Device::Simulated(0));
    Trained run(*device, {.graphs = graphs, .clip_norm = 0.5, .whole_steps = true});
    for (uint64_t step = 0; step < 3; ++step) {
      ASSERT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
    }
    ASSERT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    const Tensor x = testing::Put(*device, RandomTensor(DType::kFloat32, Shape{1}, 1));
    let_go = false;
    ASSERT_EQ(GpuRunner(*device).ForEach("hold", 1, Hold{x.data<float>()}), absl::OkStatus());
    EXPECT_EQ(run.Step(RandomBatch(3, kLargest)), absl::OkStatus());
    EXPECT_EQ(run.averages.samples(), 3 * kLargest);
    let_go = true;
    EXPECT_EQ(run.engine->CatchUp(run.averages), absl::OkStatus());
    EXPECT_EQ(run.averages.samples(), 4 * kLargest);
  }
}

// What the host asks of the GPU in a step, and what it waits for: the results of the step before,
// and buffers that were filled two steps and more ago.
TEST(StepEngineSimulatedTest, CallsOfAStep) {
  const auto calls_of = [](const Training& setup, uint64_t steps) {
    const auto device = *DeviceContext::Create(Device::Simulated(0));
    gpu::Gpu& gpu = GpuRunner(*device).context().stream().gpu();
    Trained run(*device, setup);
    gpu::CallCounts before;
    for (uint64_t step = 0; step < steps; ++step) {
      before = gpu::CallsOf(gpu);
      EXPECT_EQ(run.Step(RandomBatch(step, kLargest)), absl::OkStatus());
    }
    const gpu::CallCounts after = gpu::CallsOf(gpu);
    return gpu::CallCounts{.launches = after.launches - before.launches,
                           .copies = after.copies - before.copies,
                           .fills = after.fills - before.fills,
                           .replays = after.replays - before.replays,
                           .waits_for_all = after.waits_for_all - before.waits_for_all,
                           .waits_for_events = after.waits_for_events - before.waits_for_events};
  };
  const gpu::CallCounts eager = calls_of({.graphs = false}, 8), replayed = calls_of({}, 8);
  EXPECT_EQ(eager.replays, 0);
  EXPECT_EQ(replayed.replays, 1);
  EXPECT_EQ(replayed.launches, 0);
  EXPECT_EQ(replayed.fills, 0);
  // The launches of an eager step have one update for the whole arena among them.
  EXPECT_EQ(eager.launches, calls_of({.graphs = false}, 9).launches);
  EXPECT_GT(eager.launches, 10);
  EXPECT_LT(eager.launches, 40);
  // Batch, targets (each across, and to its place), the numbers of the step and of the update, two
  // results.
  EXPECT_EQ(replayed.copies, 8);
  for (const gpu::CallCounts& calls : {eager, replayed}) {
    EXPECT_EQ(calls.waits_for_all, 0);
    // Results of the step before, the slot that they were in, two pinned buffers, two sets of
    // numbers.
    EXPECT_EQ(calls.waits_for_events, 6);
  }
}

TEST(StepEngineSimulatedTest, SaysWhyNothingIsCaptured) {
  const auto device = *DeviceContext::Create(Device::Simulated(0));
  const Trained off(*device, {.graphs = false}), on(*device, {});
  EXPECT_EQ(off.engine->graphs().reason(), "they are switched off");
  EXPECT_EQ(on.engine->graphs().reason(), "");
}

}  // namespace
}  // namespace dtnn
