// A step of training with differential privacy for each sample.

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/private_options.h"
#include "models/testing/training_session.h"
#include "models/training/step/step_engine.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::kPrivateClip;
using ::dtnn::testing::PatternTraining;
using ::dtnn::testing::PrivateOptions;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;

Graph Normalised() {
  GraphBuilder b("normalised", TensorFormat::kNHWC);
  b.Input(kPatternSample).Conv2d(4).GroupNorm({.groups = 2}).Relu().Flatten().Fc(4).Softmax();
  return *b.Build();
}

Batch RandomBatch(int64_t count) {
  Batch batch = {.x = RandomTensor(DType::kFloat64, Shape{count, 8, 8, 1}, 5),
                 .targets = *Tensor::Zeros(DType::kInt32, Shape{count}),
                 .count = count,
                 .global_count = count};
  for (int64_t i = 0; i < count; ++i) batch.targets.data<int32_t>()[i] = int32_t(i % 4);
  return batch;
}

struct Engine {
  explicit Engine(const Graph& graph, uint8_t seed = 1)
      : device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, DType::kFloat64, 1)) {
    TrainerOptions options = PatternTraining();
    options.privacy = PrivateOptions(seed);
    options.whole_steps = true;
    engine = *StepEngine::Create(graph, *store, *device, options);
    averages = engine->NewAverages();
    EXPECT_TRUE(engine->PrepareForTraining(16).ok());
    EXPECT_TRUE(engine->SetSampling(0.25, 10).ok());
  }

  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<StepEngine> engine;
  MetricAverages averages;
};

// The gradients of samples one by one, by a plan of its own; shortened, and added up.
TEST(PrivateStepTest, AStepIsTheSumOfClippedGradientsOfItsSamples) {
  const Graph graph = Normalised();
  Engine with(graph), without(graph);
  const std::vector<double> before = Values(with.store->values());
  const Batch batch = RandomBatch(13);

  std::vector<double> wanted(before.size());
  auto store = *ParameterStore::Create(graph, *with.device, DType::kFloat64, 1);
  ASSERT_TRUE(store->AllocateForTraining(*with.device, 0).ok());
  const TrainerOptions training = PatternTraining();
  auto plan =
      *Plan::Compile(graph, *store, *with.device,
                     {.batch = 1, .training = true, .loss = training.metric_set.loss.get()});
  double losses = 0;
  int shortened = 0;
  for (int64_t i = 0; i < batch.count; ++i) {
    ASSERT_TRUE(plan->ForwardBackward(batch.x.Samples(i, 1, TensorFormat::kNHWC),
                                      batch.targets.Samples(i, 1, TensorFormat::kNHWC), 1, 0)
                    .ok());
    losses += plan->LossSum();
    const std::vector<double> gradient = Values(store->gradients());
    double squares = 0;
    for (const double x : gradient) squares += x * x;
    const double factor = std::min(1.0, kPrivateClip / std::sqrt(squares));
    shortened += factor < 1;
    for (size_t k = 0; k < wanted.size(); ++k) wanted[k] += factor * gradient[k];
  }
  EXPECT_GT(shortened, 0);

  ASSERT_TRUE(with.engine->Step(batch, &with.averages).ok());
  ASSERT_TRUE(without.engine->Step(Batch(), &without.averages).ok());  // of the same noise
  const std::vector<double> after = Values(with.store->values());
  const std::vector<double> noise = Values(without.store->values());
  EXPECT_NE(noise, before) << "a step without samples is one, too";
  // Rounded to steps of kPrivateClip kNoise 2^-20, and shortened by half the diagonal of a cell.
  for (size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_NEAR((noise[k] - after[k]) / training.learning_rate * 10, wanted[k], 13 * 1e-5) << k;
  }
  EXPECT_NEAR(*with.engine->LossSum(), losses, 1e-12 * losses);
  EXPECT_EQ(with.averages.samples(), 13);
  EXPECT_EQ(without.averages.samples(), 0);
  EXPECT_EQ(without.engine->steps_done(), 1);
}

Graph WithDropout() {
  GraphBuilder b("dropout", TensorFormat::kNHWC);
  b.Input(kPatternSample).Flatten().Dropout(0.5).Fc(4).Softmax();
  return *b.Build();
}

// Masks by the place in a batch, or by a public seed, would be others for all samples after one
// that joins the batch.
TEST(PrivateStepTest, DropoutIsByRandomWordsForEachSample) {
  Batch batch = RandomBatch(2);
  const size_t bytes = 64 * sizeof(double);
  std::memcpy(batch.x.raw_data() + bytes, batch.x.raw_data(), bytes);
  batch.targets.data<int32_t>()[1] = batch.targets.data<int32_t>()[0];
  const auto loss = [&](uint8_t seed, int64_t count) {
    Engine engine(WithDropout(), seed);
    const Batch first = {.x = batch.x.Samples(0, count, TensorFormat::kNHWC),
                         .targets = batch.targets.Samples(0, count, TensorFormat::kNHWC),
                         .count = count,
                         .global_count = count};
    EXPECT_TRUE(engine.engine->Step(first, &engine.averages).ok());
    return *engine.engine->LossSum();
  };
  EXPECT_EQ(loss(1, 1), loss(1, 1));
  EXPECT_NE(loss(1, 1), loss(2, 1)) << "not by the run's seed";
  EXPECT_GT(std::abs(loss(1, 2) - 2 * loss(1, 1)), 1e-6) << "the same sample, with another mask";
}

// With the noise of the same step without it: as if the sample were not there.
TEST(PrivateStepTest, ASampleThatIsNotFiniteCountsAsNothing) {
  Engine with(Normalised()), without(Normalised());
  Batch batch = RandomBatch(5);
  batch.x.data<double>()[4 * 64 + 7] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(with.engine->Step(batch, &with.averages).ok());
  EXPECT_TRUE(std::isnan(*with.engine->LossSum()));
  ASSERT_TRUE(without.engine->Step(RandomBatch(5), &without.averages).ok());
  // Random numbers are drawn row by row, so the first four samples of both are alike.
  double squares = 0;
  const std::vector<double> a = Values(with.store->values()), b = Values(without.store->values());
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  EXPECT_GT(squares, 0);
  EXPECT_LE(std::sqrt(squares), 0.05 * kPrivateClip / 10 * 1.001) << "the gradient of one sample";
}

TEST(PrivateStepTest, RefusesBatchesAndSamplingThatCannotBe) {
  Engine engine(Normalised());
  Batch mixed = RandomBatch(2);
  mixed.mixed_targets = *Tensor::Zeros(DType::kFloat64, Shape{2, 4});
  EXPECT_THAT(engine.engine->Step(mixed, &engine.averages).message(), HasSubstr("mixup"));
  EXPECT_THAT(engine.engine->Step(RandomBatch(17), &engine.averages).message(),
              HasSubstr("a batch of 17 samples: "));
  Batch shorter = RandomBatch(3);
  shorter.count = 2;
  EXPECT_THAT(engine.engine->Step(shorter, &engine.averages).message(), HasSubstr("as many rows"));
  for (const double bad : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_FALSE(engine.engine->SetSampling(bad, 10).ok()) << bad;
  }
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(engine.engine->SetSampling(0.5, bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dtnn
