#include "models/training/trainer.h"

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/testing/training_session.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::kPatternSample;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::Patterns;
using ::dtnn::testing::PatternTraining;
using ::dtnn::testing::Recorder;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;

struct Result {
  Recorder record;
  std::vector<double> parameters;
};

// Trains with `global_batch` divided over the ranks of `communicator` (null: one).
absl::StatusOr<Result> Train(const Graph& graph, int64_t global_batch, int64_t epochs,
                             Communicator* communicator,
                             TrainerOptions options = PatternTraining()) {
  const int ranks = communicator == nullptr ? 1 : communicator->size();
  const int rank = communicator == nullptr ? 0 : communicator->rank();
  options.communicator = communicator;
  auto device = *DeviceContext::Create(Device::Cpu());
  // Ranks begin with different parameters: the broadcast must make them equal.
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, uint64_t(1 + rank));
  auto trainer = *Trainer::Create(graph, *store, *device, options);
  const TrainValidation divided = *SplitIndices(130, 0.2, 1);
  LoaderOptions loading{.batch = global_batch / ranks,
                        .rank = rank,
                        .ranks = ranks,
                        .seed = 2,
                        .format = graph.format(),
                        .dtype = DType::kFloat64};
  auto training = *Loader::Create(Patterns(130), Split::kTrain, divided.train, loading);
  auto validation = *Loader::Create(Patterns(130), Split::kTrain, divided.validation, loading);
  Result result;
  Callback* const callbacks[] = {&result.record};
  const absl::Status status = trainer->Train(*training, validation.get(), epochs, callbacks);
  if (!status.ok()) return status;
  result.parameters = Values(store->values());
  return result;
}

TEST(TrainerTest, LearnsPatterns) {
  const Result result = *Train(PatternMlp(), 16, 8, nullptr);
  EXPECT_LT(result.record.losses.back(), result.record.losses.front() / 4);
  EXPECT_GT(result.record.accuracies.back(), 95);
  EXPECT_EQ(result.record.samples, std::vector<int64_t>(8, 104));
  EXPECT_LT(result.record.validation_losses.back(), 0.3);
}

// All weights 2 and half the rate: the same parameters, from losses that are twice as large.
TEST(TrainerTest, TheLossOfTrainingIsNotThatOfValidation) {
  TrainerOptions options = PatternTraining();
  options.learning_rate = 0.04;
  const Result plain = *Train(PatternMlp(), 16, 2, nullptr, options);
  options.learning_rate = 0.02;
  options.training_loss = std::make_shared<CategoricalCrossEntropy>(
      CategoricalCrossEntropyOptions{.class_weights = {2, 2, 2, 2}});
  for (const int ranks : {1, 2}) {
    const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) -> absl::Status {
      SetNumThreads(1);
      const absl::StatusOr<Result> twice = Train(PatternMlp(), 16, 2, &communicator, options);
      if (!twice.ok()) return twice.status();
      for (size_t epoch = 0; epoch < 2; ++epoch) {
        EXPECT_NEAR(twice->record.losses[epoch], 2 * plain.record.losses[epoch], 1e-9);
      }
      EXPECT_TRUE(Close(twice->record.validation_losses, plain.record.validation_losses, 1e-9));
      EXPECT_TRUE(Close(twice->parameters, plain.parameters, 1e-9));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(TrainerTest, AnyNumberOfRanksLearnsTheSame) {
  const Result alone = *Train(PatternMlp(), 24, 3, nullptr);
  for (int ranks : {2, 3, 4}) {
    std::vector<Result> results(static_cast<size_t>(ranks));
    const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
      SetNumThreads(1);
      absl::StatusOr<Result> result = Train(PatternMlp(), 24, 3, &communicator);
      if (result.ok()) results[size_t(communicator.rank())] = *std::move(result);
      return result.status();
    });
    ASSERT_TRUE(status.ok()) << status;
    for (const Result& result : results) {
      EXPECT_TRUE(Close(result.record.losses, alone.record.losses, 1e-9)) << ranks << " ranks";
      EXPECT_TRUE(Close(result.record.validation_losses, alone.record.validation_losses, 1e-9));
      EXPECT_EQ(result.parameters, results[0].parameters);
    }
  }
}

TEST(TrainerTest, ARankThatFailsTellsTheOthers) {
  std::vector<absl::Status> results(2);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SetNumThreads(1);
    const int rank = communicator.rank();
    const Graph graph = PatternMlp();
    auto device = *DeviceContext::Create(Device::Cpu());
    auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
    TrainerOptions options = PatternTraining();
    options.communicator = &communicator;
    auto trainer = *Trainer::Create(graph, *store, *device, options);
    // Rank 1 reads samples of another type than its plan takes.
    auto loader = *Loader::Create(Patterns(40), Split::kTrain, AllIndices(40),
                                  {.batch = 4,
                                   .rank = rank,
                                   .ranks = 2,
                                   .dtype = rank == 0 ? DType::kFloat64 : DType::kFloat32});
    results[size_t(rank)] = trainer->Train(*loader, nullptr, 1, {});
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(results[1].code(), absl::StatusCode::kInvalidArgument) << results[1];
  EXPECT_NE(results[0].message().find("rank 1 gave up: a batch of shape"), std::string::npos)
      << results[0];
}

SessionOptions InStepsOf16() {
  return {.samples = 40, .validation_split = 0, .loading = {.batch = 16}};
}

TEST(TrainerTest, ACallbackCanStop) {
  TrainingSession session(PatternMlp(), InStepsOf16());
  session.record.epochs_wanted = 2;
  session.record.trainer = session.trainer.get();
  ASSERT_TRUE(session.Train(10).ok());
  EXPECT_EQ(session.trainer->epochs_done(), 2);
  EXPECT_EQ(session.trainer->steps_done(), 6);
}

// Wants training to stop, then evaluates.
class StopAndEvaluate : public Callback {
 public:
  StopAndEvaluate(Trainer& trainer, Loader& loader) : trainer_(trainer), loader_(loader) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    return in_epoch && pass.step == 1 ? Act() : absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass&, const Pass*) override { return Act(); }
  bool in_epoch = false;

 private:
  absl::Status Act() {
    trainer_.Stop();
    const absl::StatusOr<MetricAverages> averages = trainer_.Evaluate(loader_, {});
    if (!averages.ok()) return averages.status();
    EXPECT_EQ(averages->samples(), 40) << "an evaluation of its own is whole";
    return absl::OkStatus();
  }

  Trainer& trainer_;
  Loader& loader_;
};

TEST(TrainerTest, AnEvaluationInACallbackDoesNotCancelAStop) {
  TrainingSession session(PatternMlp(), InStepsOf16()), other(PatternMlp(), InStepsOf16());
  StopAndEvaluate act(*session.trainer, *other.training);
  ASSERT_TRUE(session.Train(10, {&act}).ok());
  EXPECT_EQ(session.trainer->epochs_done(), 1);
  EXPECT_TRUE(session.trainer->State()->ended);
  act.in_epoch = true;
  ASSERT_TRUE(session.Train(10, {&act}).ok());
  EXPECT_EQ(session.trainer->State()->step_in_epoch, 1);
}

// Parameters after one epoch of plain steps in float64.
std::vector<double> AfterAnEpoch(int64_t batch, int64_t accumulate, double clip_norm,
                                 int64_t* steps = nullptr) {
  SessionOptions options{
      .dtype = DType::kFloat64, .samples = 54, .validation_split = 0, .loading = {.batch = batch}};
  options.training.optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0});
  options.training.accumulate_steps = accumulate;
  options.training.clip_norm = clip_norm;
  TrainingSession session(PatternMlp(), options);
  EXPECT_TRUE(session.Train(1).ok());
  if (steps != nullptr) *steps = session.trainer->steps_done();
  return Values(session.store->values());
}

TEST(TrainerTest, AccumulatedBatchesAreOneLargeBatch) {
  // 54 samples: 3 updates of 16 and one of 6 samples, whose last batch is smaller than the others.
  int64_t steps = 0;
  const std::vector<double> small = AfterAnEpoch(4, 4, 0, &steps);
  EXPECT_EQ(steps, 4);
  EXPECT_TRUE(Close(small, AfterAnEpoch(16, 1, 0), 1e-12));
  EXPECT_FALSE(Close(small, AfterAnEpoch(4, 1, 0), 1e-4));
}

TEST(TrainerTest, ClippingShortensLongGradients) {
  EXPECT_EQ(AfterAnEpoch(54, 1, 1e9), AfterAnEpoch(54, 1, 0));
  const std::vector<double> start = AfterAnEpoch(54, 1, 1e-300), clipped = AfterAnEpoch(54, 1, 0.5);
  const std::vector<double> free = AfterAnEpoch(54, 1, 0);
  double norm = 0, dot = 0, free_norm = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    const double step = clipped[i] - start[i], whole = free[i] - start[i];
    norm += step * step, dot += step * whole, free_norm += whole * whole;
  }
  ASSERT_GT(std::sqrt(free_norm), 0.05 * 0.5) << "the gradient must be longer than the limit";
  EXPECT_NEAR(std::sqrt(norm), 0.05 * 0.5, 1e-12);
  EXPECT_NEAR(dot, std::sqrt(norm * free_norm), 1e-12) << "the direction stays";
  EXPECT_TRUE(Close(AfterAnEpoch(9, 6, 0.5), clipped, 1e-12)) << "of the accumulated gradient";
}

// One value of every batch is NaN.
class Spoilt : public Dataset {
 public:
  explicit Spoilt(std::shared_ptr<const Dataset> whole) : whole_(std::move(whole)) {}
  std::string_view name() const override { return whole_->name(); }
  ImageExtents sample() const override { return whole_->sample(); }
  int64_t outputs() const override { return whole_->outputs(); }
  int64_t size(Split split) const override { return whole_->size(split); }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    const absl::Status status = whole_->Read(split, indices, format, x, targets);
    x.data<float>()[x.num_elements() - 1] = std::numeric_limits<float>::quiet_NaN();
    return status;
  }

 private:
  const std::shared_ptr<const Dataset> whole_;
};

TEST(TrainerTest, NaNInSamplesIsNotBlamedOnTraining) {
  TrainingSession session(PatternMlp());
  const auto loader = *Loader::Create(std::make_shared<Spoilt>(Patterns(12)), Split::kTrain,
                                      AllIndices(12), {.batch = 5});
  const absl::Status status = session.trainer->Train(*session.training, loader.get(), 1, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  const std::string text(status.message());
  EXPECT_NE(text.find("the batch: sample 4 contains nan; its samples must be finite"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("learning rate"), std::string::npos) << text;
  EXPECT_FALSE(session.trainer->diverged());
  EXPECT_TRUE(session.trainer->StateAlone().ok()) << "what training has done can be saved";
}

TEST(TrainerTest, ALossThatIsNaNInAnEvaluationIsAnError) {
  TrainingSession session(PatternMlp());
  session.store->values().data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  session.store->MarkChanged();
  const absl::Status status = session.trainer->Evaluate(*session.validation, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(std::string(status.message()).substr(0, 27), "the loss is nan in the test");
  EXPECT_FALSE(session.trainer->StateAlone().ok());
  // With better parameters it is over.
  session.store->values().data<float>()[0] = 0;
  session.store->MarkChanged();
  EXPECT_TRUE(session.Train(1).ok());
  EXPECT_FALSE(session.trainer->diverged());
}

TEST(TrainerTest, ADivergedLossStopsTheRun) {
  TrainerOptions options = PatternTraining();
  options.learning_rate = 1e30;
  const absl::Status status = Train(PatternMlp(), 16, 3, nullptr, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("lower the learning rate"), std::string::npos) << status;
}

TEST(TrainerTest, EvaluationCountsEverySampleOnce) {
  TrainingSession session(PatternMlp());
  auto whole =
      *Loader::Create(Patterns(40), Split::kTest, AllIndices(40), {.batch = 40, .shuffle = false});
  auto pieces =
      *Loader::Create(Patterns(40), Split::kTest, AllIndices(40), {.batch = 7, .shuffle = false});
  const MetricAverages once = *session.trainer->Evaluate(*whole, {});
  const MetricAverages parts = *session.trainer->Evaluate(*pieces, {});
  EXPECT_EQ(once.samples(), 40);
  EXPECT_EQ(parts.samples(), 40);
  EXPECT_NEAR(once.Value(0), parts.Value(0), 1e-5);
  EXPECT_EQ(once.Value(1), parts.Value(1));
  EXPECT_EQ(once.Format("test_").substr(0, 10), "test_cce: ");
}

// With parameters that stay as they are and the same batches, nothing else tells epochs apart.
TEST(TrainerTest, EveryEpochDrawsMasksOfItsOwn) {
  GraphBuilder b("dropped", TensorFormat::kNHWC);
  b.Input(kPatternSample).Flatten().Dropout(0.5).Fc(4).Softmax();
  SessionOptions options;
  options.training.learning_rate = 0;
  options.loading.shuffle = false;
  TrainingSession session(*b.Build(), options);
  ASSERT_TRUE(session.Train(3).ok());
  const std::vector<double>& losses = session.record.losses;
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_NE(losses[1], losses[0]);
  EXPECT_NE(losses[2], losses[1]);
}

}  // namespace
}  // namespace dtnn
