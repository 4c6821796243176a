// Training with differential privacy for each sample, by a Trainer.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "comm/federation/privacy/renyi.h"
#include "comm/local.h"
#include "data/testing/philox_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/private_options.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "models/zoo/zoo.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::kPrivateClip;
using ::dtnn::testing::kPrivateNoise;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::PhiloxWords;
using ::dtnn::testing::PrivateOptions;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;

SessionOptions Private(uint64_t seed = 4) {
  SessionOptions options;
  options.training.privacy = PrivateOptions();
  options.loading.poisson = PhiloxWords(seed);
  return options;
}

// Parameters after one step of noise alone: from all samples, each of which counts for little.
TEST(PrivateTrainingTest, NoiseOfAStepIsThatOfTheClipOverTheMeanBatch) {
  for (const int64_t batch : {9, 64}) {  // of 48 samples; 64 takes all of them in each step
    SessionOptions options;
    options.training.privacy = PrivateOptions();
    options.training.privacy.noise = 200;
    options.training.optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0});
    options.loading.batch = batch;
    options.loading.poisson = PhiloxWords(4);
    TrainingSession session(PatternMlp(), options);
    EXPECT_EQ(session.training->probability(), std::min(1.0, double(batch) / 48));
    const std::vector<double> before = Values(session.store->values());
    ASSERT_TRUE(session.Train(1).ok());
    const std::vector<double> after = Values(session.store->values());
    double squares = 0, count = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      squares += (after[i] - before[i]) * (after[i] - before[i]);
      count += after[i] != before[i];
    }
    const double steps = double(session.training->steps());
    const double mean = double(std::min<int64_t>(batch, 48));
    const double wanted = 0.05 * 200 * kPrivateClip / mean * std::sqrt(steps);
    EXPECT_NEAR(std::sqrt(squares / count), wanted, wanted * (5 / std::sqrt(2 * count) + 0.01));
  }
}

class KeepMetrics : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass* validation) override {
    metrics = MetricsOf(training, validation);
    return absl::OkStatus();
  }
  NamedMetrics metrics;
};

TEST(PrivateTrainingTest, EpsilonIsThatOfTheStepsAndComesWithTheMetrics) {
  TrainingSession session(PatternMlp(), Private());
  KeepMetrics keep;
  ASSERT_TRUE(session.Train(3, {&keep}).ok());
  federation::RenyiAccountant accountant;
  accountant.Add(9.0 / 48, kPrivateNoise, uint64_t(3 * session.training->steps()));
  EXPECT_EQ(session.training->steps(), 6);
  EXPECT_NEAR(*session.trainer->engine().epsilon(), accountant.Epsilon(1e-5), 1e-9);
  ASSERT_FALSE(keep.metrics.empty());
  EXPECT_EQ(keep.metrics.back().first, "dp_epsilon");
  EXPECT_EQ(keep.metrics.back().second, *session.trainer->engine().epsilon());
  EXPECT_EQ(TrainingSession(PatternMlp()).trainer->engine().epsilon(), std::nullopt);
}

TEST(PrivateTrainingTest, ThreadsDoNotChangeTheBits) {
  const Graph graph =
      *BuildModel("simplecnn8", {.sample = kPatternSample, .classes = 4});  // has dropout
  const int before = NumThreads();
  std::vector<std::vector<double>> values, losses;
  for (const int threads : {1, 3}) {
    SetNumThreads(threads);
    TrainingSession session(graph, Private());
    ASSERT_TRUE(session.Train(2).ok());
    values.push_back(Values(session.store->all_values()));
    losses.push_back(session.record.losses);
  }
  SetNumThreads(before);
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(losses[0], losses[1]);
}

TEST(PrivateTrainingTest, ARunThatIsRestoredContinuesTheAccount) {
  const Graph graph = PatternMlp();
  TrainingSession whole(graph, Private()), first(graph, Private()), second(graph, Private());
  ASSERT_TRUE(whole.Train(3).ok());
  ASSERT_TRUE(first.Train(1).ok());
  const TrainingState state = *first.trainer->State();
  EXPECT_FALSE(state.privacy_spent.empty());
  ASSERT_TRUE(second.trainer->PrepareForTraining(second.training->max_batch()).ok());
  CopyParameters(first, second);
  ASSERT_TRUE(second.trainer->Restore(state).ok());
  EXPECT_EQ(*second.trainer->engine().epsilon(), *first.trainer->engine().epsilon());
  ASSERT_TRUE(second.Train(3).ok());
  EXPECT_NEAR(*second.trainer->engine().epsilon(), *whole.trainer->engine().epsilon(), 1e-12);
  EXPECT_EQ(second.trainer->steps_done(), whole.trainer->steps_done());
}

TEST(PrivateTrainingTest, ARunIsPrivateFromItsFirstStepOrNotAtAll) {
  const Graph graph = PatternMlp();
  TrainingSession with(graph, Private()), without(graph);
  ASSERT_TRUE(with.Train(1).ok());
  ASSERT_TRUE(without.Train(1).ok());
  EXPECT_EQ(TrainingSession(graph).trainer->Restore(*with.trainer->State()).message(),
            "the run was started with differential privacy of samples, which steps without it "
            "would end; continue with it");
  EXPECT_EQ(TrainingSession(graph, Private()).trainer->Restore(*without.trainer->State()).message(),
            "the run was started without differential privacy of samples: its first 6 steps may "
            "have revealed anything; begin a new run with it");
  TrainingState state = *with.trainer->State();
  state.privacy_spent[3] = std::nan("");
  EXPECT_THAT(TrainingSession(graph, Private()).trainer->Restore(state).message(),
              HasSubstr("it is damaged"));
  state.privacy_spent = {1, 2};
  EXPECT_THAT(TrainingSession(graph, Private()).trainer->Restore(state).message(),
              HasSubstr("it is damaged"));
}

// Or the next steps would have no noise.
TEST(PrivateTrainingTest, AnEngineThatCouldNotBePreparedDoesNotTrain) {
  SessionOptions options = Private();
  options.training.privacy.noise = 1e6;  // rounding cuts off too much
  TrainingSession session(PatternMlp(), options);
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(session.Train(1).message(), HasSubstr("too much for"));
  }
  const auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(PatternMlp(), *device, DType::kFloat32, 1);
  auto engine = *StepEngine::Create(PatternMlp(), *store, *device, options.training);
  EXPECT_FALSE(engine->PrepareForTraining(16).ok());
  ASSERT_TRUE(engine->SetSampling(0.5, 8).ok());
  EXPECT_EQ(engine->Step(Batch(), nullptr).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PrivateTrainingTest, RefusesWhatItsBoundDoesNotCover) {
  SessionOptions shuffled = Private();
  shuffled.loading.poisson = nullptr;
  EXPECT_THAT(TrainingSession(PatternMlp(), shuffled).Train(1).message(),
              HasSubstr("needs a loader with Poisson sampling"));

  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto message = [&](const TrainerOptions& options) {
    auto store = *ParameterStore::Create(PatternMlp(), *device, DType::kFloat32, 1);
    return std::string(
        StepEngine::Create(PatternMlp(), *store, *device, options).status().message());
  };
  TrainerOptions accumulating = Private().training;
  accumulating.accumulate_steps = 2;
  EXPECT_EQ(message(accumulating),
            "differential privacy of samples: each batch is an update, so not with 2 batches per "
            "update; a larger batch takes no more memory for activations");
  TrainerOptions ranks = Private().training;
  auto group = *LocalGroup::Create(2);
  ranks.communicator = group[0].get();
  EXPECT_THAT(message(ranks), HasSubstr("is for one rank"));
  TrainerOptions common = Private().training;
  common.common_metrics = common.whole_steps = true;
  EXPECT_THAT(message(common), HasSubstr("common in every step"));
  TrainerOptions no_noise = Private().training;
  no_noise.privacy.noise = 0;
  EXPECT_THAT(message(no_noise), HasSubstr("noise 0"));
}

}  // namespace
}  // namespace dtnn
