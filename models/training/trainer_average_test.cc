#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_average.h"
#include "models/testing/training_session.h"
#include "models/training/trainer.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::CopyParameters;
using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::testing::HasSubstr;
using Doubles = std::vector<double>;

constexpr double kDecay = 0.7;

// In float64, to compare with plain sums.
SessionOptions Averaging(double decay) {
  SessionOptions options{.dtype = DType::kFloat64};
  options.training.optimizer =
      std::make_shared<Sgd>(SgdOptions{.momentum = 0.9, .average_decay = decay});
  return options;
}

// The average of the parameters after every step, by its definition.
class Follower : public Callback {
 public:
  explicit Follower(const TrainingSession& session) : session_(session) {
    average = Values(session.store->values());
  }
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
    const Doubles now = Values(session_.store->values());
    const double step = double(session_.trainer->steps_done());
    const double decay = std::min(kDecay, (1 + step) / (10 + step));
    for (size_t i = 0; i < now.size(); ++i) average[i] += (1 - decay) * (now[i] - average[i]);
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    EXPECT_TRUE(Close(Values(session_.store->values()), average, 1e-13));
    EXPECT_NE(Values(session_.store->values()), Values(session_.store->slots()[1]));
    return absl::OkStatus();
  }

  Doubles average;

 private:
  const TrainingSession& session_;
};

Graph Normalised() {
  GraphBuilder b("normalised", TensorFormat::kNHWC);
  b.Input(kPatternSample).Conv2d(3).BatchNorm().Relu().Flatten().Fc(4).Softmax();
  return *b.Build();
}

TEST(TrainerAverageTest, StandsForTheParametersBetweenPassesOfTraining) {
  const Graph graph = Normalised();
  TrainingSession averaged(graph, Averaging(kDecay)), plain(graph, Averaging(0));
  Follower follower(averaged);
  ASSERT_EQ(averaged.Train(3, {&follower}), absl::OkStatus());
  ASSERT_EQ(plain.Train(3), absl::OkStatus());
  EXPECT_EQ(averaged.record.losses, plain.record.losses) << "training itself is as without";
  EXPECT_EQ(Values(averaged.store->slots()[1]), Values(plain.store->values()));
  EXPECT_TRUE(Close(Values(averaged.store->values()), follower.average, 1e-13));
  EXPECT_EQ(Values(averaged.store->statistics()), Values(plain.store->statistics()));
  // Validation is that of a network with the average.
  EXPECT_NE(averaged.record.validation_losses, plain.record.validation_losses);
  TrainingSession same(graph, {.dtype = DType::kFloat64});
  std::memcpy(same.store->all_values().raw_data(), averaged.store->all_values().raw_data(),
              size_t(same.store->all_values().num_elements()) * sizeof(double));
  same.store->MarkChanged();
  const double loss = (*same.trainer->Evaluate(*same.validation, {})).Value(0);
  EXPECT_EQ((*averaged.trainer->Evaluate(*averaged.validation, {})).Value(0), loss);
  EXPECT_NEAR(averaged.record.validation_losses.back(), loss, 1e-12) << "in another order";
}

TEST(TrainerAverageTest, AnEvaluationInTheMiddleOfAnEpochChangesNothing) {
  class Evaluation : public Callback {
   public:
    explicit Evaluation(TrainingSession& session) : session_(session) {}
    absl::Status OnBatchEnd(const Pass& pass) override {
      return pass.kind == Pass::Kind::kTraining
                 ? session_.trainer->Evaluate(*session_.validation, {}).status()
                 : absl::OkStatus();
    }

   private:
    TrainingSession& session_;
  };
  for (const int64_t accumulate_steps : {1, 4}) {
    SessionOptions options = Averaging(kDecay);
    options.training.accumulate_steps = accumulate_steps;
    TrainingSession evaluated(PatternMlp(), options), plain(PatternMlp(), options);
    Evaluation evaluation(evaluated);
    ASSERT_EQ(evaluated.Train(2, {&evaluation}), absl::OkStatus());
    ASSERT_EQ(plain.Train(2), absl::OkStatus());
    EXPECT_EQ(Values(evaluated.store->all_values()), Values(plain.store->all_values()));
    EXPECT_EQ(Values(evaluated.store->slots()[1]), Values(plain.store->slots()[1]));
  }
}

// As early stopping brings back the best epoch, and a program sets weights of its own.
TEST(TrainerAverageTest, ParametersThatOthersWriteBetweenPassesAreTrainedOn) {
  TrainingSession session(PatternMlp(), Averaging(kDecay));
  ASSERT_EQ(session.Train(1), absl::OkStatus());
  const Tensor values = session.store->values();
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    values.data<double>()[i] = double(i % 7) / 8 - 0.375;
  }
  session.store->MarkChanged();
  // A run that has always had them, as parameters and as their average.
  TrainingSession expected(PatternMlp(), Averaging(kDecay));
  ASSERT_EQ(expected.trainer->PrepareForTraining(9), absl::OkStatus());
  CopyParameters(session, expected);
  std::memcpy(expected.store->slots()[1].raw_data(), values.raw_data(),
              size_t(values.num_elements()) * sizeof(double));
  ASSERT_EQ(expected.trainer->Restore(*session.trainer->State()), absl::OkStatus());
  ASSERT_EQ(expected.Train(2), absl::OkStatus());
  ASSERT_EQ(session.Train(2), absl::OkStatus());
  EXPECT_EQ(Values(session.store->all_values()), Values(expected.store->all_values()));
  EXPECT_EQ(Values(session.store->slots()[1]), Values(expected.store->slots()[1]));
}

TEST(TrainerAverageTest, ParametersThatOthersHaveWrittenAreInTheState) {
  TrainingSession session(PatternMlp(), Averaging(kDecay)),
      resumed(PatternMlp(), Averaging(kDecay));
  ASSERT_EQ(session.Train(1), absl::OkStatus());
  session.store->values().data<double>()[0] = 0.25;
  session.store->MarkChanged();
  const TrainingState state = *session.trainer->State();
  ASSERT_EQ(resumed.trainer->PrepareForTraining(9), absl::OkStatus());
  CopyParameters(session, resumed);
  ASSERT_EQ(resumed.trainer->Restore(state), absl::OkStatus());
  ASSERT_EQ(session.Train(2), absl::OkStatus());
  ASSERT_EQ(resumed.Train(2), absl::OkStatus());
  EXPECT_EQ(Values(session.store->all_values()), Values(resumed.store->all_values()));
  EXPECT_EQ(Values(session.store->slots()[1]), Values(resumed.store->slots()[1]));
}

// More elements than what is exchanged at once.
TEST(TrainerAverageTest, ExchangesAllParametersAndBack) {
  GraphBuilder b("large", TensorFormat::kNHWC);
  b.Input({1, 1, 700}).Flatten().Fc(701).Softmax();
  const Graph graph = *b.Build();
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  ASSERT_EQ(store->AllocateForTraining(*device, 2, /*average_slot=*/0), absl::OkStatus());
  ParameterAverage average(*store, *device);
  const Doubles first = Values(store->values());
  ASSERT_EQ(average.Show(/*steps_done=*/0), absl::OkStatus());
  EXPECT_EQ(Values(store->values()), first) << "there is none before the first update";
  ASSERT_EQ(average.BeginStep(0), absl::OkStatus());
  EXPECT_EQ(Values(store->slots()[0]), first);
  float* const values = store->values().data<float>();
  for (size_t i = 0; i < first.size(); ++i) values[i] = float(i);
  const Doubles parameters = Values(store->values());
  for (int time = 0; time < 2; ++time) {
    const uint64_t version = store->version();
    ASSERT_EQ(average.Show(1), absl::OkStatus());
    ASSERT_EQ(average.Show(1), absl::OkStatus()) << "no second exchange";
    EXPECT_EQ(Values(store->values()), first);
    EXPECT_EQ(Values(store->slots()[0]), parameters);
    EXPECT_GT(store->version(), version) << "or packed copies would stay";
    ASSERT_EQ(average.BeginStep(1), absl::OkStatus());
    EXPECT_EQ(Values(store->values()), parameters);
    EXPECT_EQ(Values(store->slots()[0]), first);
  }
}

TEST(TrainerAverageTest, RanksHaveTheSameOne) {
  std::vector<Doubles> averages(2);
  ASSERT_EQ(RunRanks(2,
                     [&](Communicator& communicator) {
                       SetNumThreads(1);
                       SessionOptions rank = Averaging(kDecay);
                       rank.loading.batch = 4;
                       rank.loading.rank = communicator.rank();
                       rank.loading.ranks = communicator.size();
                       rank.training.communicator = &communicator;
                       TrainingSession session(Normalised(), rank);
                       EXPECT_EQ(session.Train(2), absl::OkStatus());
                       averages[size_t(communicator.rank())] = Values(session.store->values());
                       return absl::OkStatus();
                     }),
            absl::OkStatus());
  EXPECT_EQ(averages[0], averages[1]) << "to the last bit";
}

TEST(TrainerAverageTest, NeedsTheSameParametersOnAllRanks) {
  SessionOptions options = Averaging(kDecay);
  options.training.model_sync.frequency = 2;
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(PatternMlp(), *device, DType::kFloat64, 1);
  EXPECT_THAT(
      std::string(
          StepEngine::Create(PatternMlp(), *store, *device, options.training).status().message()),
      HasSubstr("an average of the parameters needs the same ones on all ranks, but with "
                "periodic model averages"));
}

}  // namespace
}  // namespace dtnn
