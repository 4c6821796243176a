#include "models/session/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "comm/local.h"
#include "data/loading/open_dataset.h"
#include "data/transforms/flip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/predictor.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"
#include "optim/schedulers/cosine.h"
#include "optim/schedulers/early_stopping.h"
#include "tensor/must.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const Dataset> Patterns(int64_t side = 8, int64_t channels = 1,
                                        const Geometry& geometry = {}) {
  return Must(OpenDataset(
      "synthetic", {.geometry = geometry,
                    .synthetic = {.train_samples = 240,
                                  .test_samples = 60,
                                  .sample = {.height = side, .width = side, .channels = channels},
                                  .classes = 4,
                                  .pattern = SyntheticPattern::kClasses,
                                  .seed = 3}}));
}

Network Small(const Dataset& data) {
  Network net("small");
  net.Input(data).Conv2d(6, {.padding = 1}).BatchNorm().Relu().Flatten();
  return net.Fc(data.outputs()).Softmax();
}

std::string File(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(SessionTest, LearnsAndMeasures) {
  const auto data = Patterns();
  const auto session = Must(Session::Create(Small(*data), {.seed = 1}));
  const double before = Must(session->Evaluate(*data))["categorical_accuracy"];
  ASSERT_TRUE(session->Fit(*data, {.epochs = 20, .batch = 20, .transforms = {Flip()}}).ok());
  const MetricValues after = Must(session->Evaluate(*data));
  EXPECT_LT(before, 70);
  EXPECT_GT(after["categorical_accuracy"], 95);
  EXPECT_LT(after["categorical_cross_entropy"], 1);
  EXPECT_EQ(after.all().size(), 2);
  EXPECT_TRUE(std::isnan(after["accuracy"])) << "which was not asked for";
  EXPECT_EQ(session->trainer().epochs_done(), 20);
}

TEST(SessionTest, ObjectsAndNamesMeanTheSame) {
  const auto data = Patterns();
  const auto loss_of = [&](const SessionOptions& options) {
    const auto session = Must(Session::Create(Small(*data), options));
    Must(session->Fit(*data, {.epochs = 1, .batch = 20}));
    return Must(session->Evaluate(*data))["categorical_cross_entropy"];
  };
  const double by_name = loss_of({});
  EXPECT_EQ(loss_of({.loss = CategoricalCrossEntropy(), .optimizer = Adam()}), by_name);
  EXPECT_NE(loss_of({.optimizer = Sgd({.momentum = 0.5})}), by_name);
  EXPECT_NE(loss_of({.seed = 2}), by_name);
}

TEST(SessionTest, UnknownNamesAreAnsweredWithThoseThatThereAre) {
  const auto data = Patterns();
  const auto error = [&](const SessionOptions& options) {
    return Message(Session::Create(Small(*data), options).status());
  };
  EXPECT_THAT(error({.loss = "hinge"}), AllOf(HasSubstr("hinge"), HasSubstr("mse")));
  EXPECT_THAT(error({.optimizer = "lion"}), AllOf(HasSubstr("lion"), HasSubstr("adamw")));
  EXPECT_THAT(error({.metrics = {"f2"}}), AllOf(HasSubstr("f2"), HasSubstr("f1_score")));
}

TEST(SessionTest, MistakesOfANetworkNameTheLayer) {
  const auto data = Patterns();
  EXPECT_THAT(Message(Session::Create(Network("n").Input(*data).Conv2d(4, {.kernel = 9})).status()),
              HasSubstr("Conv2D"));
  EXPECT_THAT(Message(Session::Create(Network::Zoo("resnet20", *data).Relu()).status()),
              HasSubstr("resnet20"));
}

TEST(SessionTest, DataOfAnotherShapeAreRefused) {
  const auto session = Must(Session::Create(Small(*Patterns())));
  const auto other = Patterns(/*side=*/9);
  EXPECT_THAT(Message(session->Fit(*other)), AllOf(HasSubstr("9 x 9"), HasSubstr("8 x 8")));
  EXPECT_FALSE(session->Evaluate(*other).ok());
  EXPECT_FALSE(session->Fit(*Patterns(), {.epochs = -1}).ok());
  EXPECT_FALSE(session->Fit(*Patterns(), {.validation_split = 1}).ok());
}

TEST(SessionTest, NetworksOfTheZooFitTheData) {
  const auto data = Patterns(/*side=*/32, /*channels=*/3);
  const auto session = Must(Session::Create(Network::Zoo("simplecnn8", *data)));
  EXPECT_EQ(session->graph().output_shape()[0], 4);
  EXPECT_TRUE(session->Fit(*data, {.steps_per_epoch = 1}).ok());
}

TEST(SessionTest, ASavedModelIsWholeAndGoesOn) {
  const auto data = Patterns();
  const auto session = Must(Session::Create(Small(*data), {.dtype = DType::kFloat64}));
  Must(session->Fit(*data, {.epochs = 2, .validation_split = 0.25, .standardize = true}));
  const std::string path = File("session.safetensors");
  Must(session->Save(path));
  const double loss = Must(session->Evaluate(*data))["categorical_cross_entropy"];

  const auto again = Must(Session::Load(path));
  EXPECT_EQ(Must(again->Evaluate(*data))["categorical_cross_entropy"], loss)
      << "with the mean and deviation of the file";
  EXPECT_TRUE(again->Fit(*data, {.epochs = 1}).ok());

  const auto predictor = Must(Predictor::Load(path));
  const ModelDescription& told = predictor->model().description;
  EXPECT_EQ(told.loss, "categorical_cross_entropy");
  EXPECT_EQ(told.training.dataset, "synthetic");
  EXPECT_EQ(told.training.epochs, 2);
  ASSERT_EQ(told.training.metrics.size(), 4);
  EXPECT_EQ(told.training.metrics[3].first, "val_categorical_accuracy");
  EXPECT_EQ(predictor->model().preprocessing.normalization.offset.size(), 1);
}

TEST(SessionTest, ALoadedModelTrainsOnAsItWasTrained) {
  const auto data = Patterns();
  Network net("labels");
  net.Input(*data).Flatten().Fc(data->outputs()).Softmax();
  const auto session =
      Must(Session::Create(net, {.loss = "binary_cross_entropy",
                                 .optimizer = Sgd({.momentum = 0.5, .decay = 0.25}),
                                 .learning_rate = 0.25,
                                 .metrics = {}}));
  const std::string path = File("as_trained.npz"), again = File("as_trained_again.npz");
  Must(session->Save(path));
  Must(Must(Session::Load(path, {.metrics = {}}))->Save(again));
  const auto description = [](const std::string& file) {
    return Must(Predictor::Load(file))->model().description;
  };
  EXPECT_EQ(description(again), description(path));
  EXPECT_EQ(description(again).loss, "binary_cross_entropy");
  EXPECT_EQ(description(again).training.optimizer, "sgd");
  EXPECT_EQ(description(again).training.constants.at("momentum"), 0.5);
  EXPECT_EQ(description(again).training.learning_rate, 0.25);

  const auto others = Must(Session::Load(
      path, {.loss = "categorical_cross_entropy", .optimizer = "rmsprop", .learning_rate = 0.125}));
  Must(others->Fit(*data, {.epochs = 2}));
  Must(others->Save(again));
  EXPECT_EQ(description(again).loss, "categorical_cross_entropy");
  EXPECT_EQ(description(again).training.optimizer, "rmsprop");
  EXPECT_EQ(description(again).training.learning_rate, 0.125);
  const auto longer = Must(Session::Load(again));
  Must(longer->Fit(*data, {.epochs = 1}));
  Must(longer->Save(again));
  EXPECT_EQ(description(again).training.epochs, 3) << "of both calls of Fit";
}

TEST(SessionTest, AModelKnowsTheGeometryOfItsImages) {
  const auto whole = Patterns(), resized = Patterns(12, 1, {.resize = 8});
  const auto session = Must(Session::Create(Small(*whole)));
  Must(session->Fit(*whole, {.steps_per_epoch = 1}));
  EXPECT_THAT(Message(session->Evaluate(*resized).status()), HasSubstr("resized to 8 x 8"));
  const std::string path = File("geometry.npz");
  Must(session->Save(path));
  EXPECT_EQ(Must(Predictor::Load(path))->model().preprocessing.geometry, ImageGeometry{});
  const auto other = Must(Session::Create(Small(*resized)));
  Must(other->Fit(*resized, {.steps_per_epoch = 1}));
  Must(other->Save(path));
  EXPECT_EQ(Must(Predictor::Load(path))->model().preprocessing.geometry->geometry.resize, 8);
}

TEST(SessionTest, SchedulersWatchTheValidation) {
  const auto data = Patterns();
  const auto session = Must(Session::Create(Small(*data), {.learning_rate = 1e-9}));
  Must(session->Fit(
      *data,
      {.epochs = 50,
       .validation_split = 0.25,
       .schedulers = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{
           .metric = "val_categorical_accuracy", .better = Better::kLarger, .patience = 2})}}));
  EXPECT_LT(session->trainer().epochs_done(), 50);
}

TEST(SessionTest, ASavedModelIsTheBestOfARunThatEndedBeforeItsPatience) {
  const auto data = Patterns();
  const auto session = Must(Session::Create(Small(*data), {.learning_rate = 0.05}));
  // The first epoch has the largest loss.
  Must(session->Fit(*data,
                    {.epochs = 3,
                     .validation_split = 0.25,
                     .schedulers = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{
                         .metric = "categorical_cross_entropy", .better = Better::kLarger})}}));
  const std::string path = File("best.npz");
  Must(session->Save(path));
  const TrainingRecord record = Must(Predictor::Load(path))->model().description.training;
  EXPECT_EQ(record.epochs, 1);
  EXPECT_EQ(record.run_epochs, 3);
  const auto first = Must(Session::Create(Small(*data), {.learning_rate = 0.05}));
  Must(first->Fit(*data, {.epochs = 1, .validation_split = 0.25}));
  Must(first->Save(path));
  EXPECT_EQ(record.metrics, Must(Predictor::Load(path))->model().description.training.metrics);
  EXPECT_EQ(Must(session->Evaluate(*data)).all(), Must(first->Evaluate(*data)).all());
}

// The rates of all steps.
class Rates : public Callback {
 public:
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kTraining) seen.push_back(trainer->engine().learning_rate());
    return absl::OkStatus();
  }
  const Trainer* trainer = nullptr;
  std::vector<double> seen;
};

TEST(SessionTest, EachFitHasAScheduleOfItsOwn) {
  const auto data = Patterns();
  const auto session = Must(Session::Create(Small(*data), {.learning_rate = 0.01}));
  std::vector<std::vector<double>> rates;
  for (int fit = 0; fit < 2; ++fit) {
    Rates of_steps;
    of_steps.trainer = &session->trainer();
    Must(session->Fit(
        *data,
        {.epochs = 2, .schedulers = {std::make_shared<Cosine>()}, .callbacks = {&of_steps}}));
    rates.push_back(of_steps.seen);
  }
  EXPECT_EQ(rates[0], rates[1]);
  EXPECT_EQ(rates[1][0], 0.01);
}

// Training samples are of class 0, those for tests of class 1; all look alike.
class Marked : public Dataset {
 public:
  std::string_view name() const override { return "marked"; }
  ImageExtents sample() const override { return {8, 8, 1}; }
  int64_t outputs() const override { return 2; }
  int64_t size(Split split) const override { return split == Split::kTrain ? 6 : 4; }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat, const Tensor& x,
                    const Tensor& targets) const override {
    std::fill_n(x.data<float>(), x.num_elements(), 1.f);
    std::fill_n(targets.data<int32_t>(), indices.size(), split == Split::kTrain ? 0 : 1);
    return absl::OkStatus();
  }
};

TEST(SessionTest, EvaluatesTheSplitThatIsAskedFor) {
  const Marked data;
  const auto session = Must(Session::Create(Small(data), {}));
  const auto accuracy = [&](const EvaluateOptions& options) {
    return Must(session->Evaluate(data, options))["categorical_accuracy"];
  };
  const double of_test = accuracy({}), of_train = accuracy({.split = Split::kTrain});
  EXPECT_EQ(of_test + of_train, 100);
  EXPECT_NE(of_test, of_train);
  EXPECT_EQ(accuracy({.split = Split::kTest}), of_test);
}

// Images, of which every Read waits until another one is under way.
class Decoded : public Dataset {
 public:
  std::string_view name() const override { return "decoded"; }
  ImageExtents sample() const override { return {8, 8, 1}; }
  int64_t outputs() const override { return 4; }
  int64_t size(Split) const override { return 16; }
  bool decodes() const override { return true; }
  absl::Status Read(Split, std::span<const int64_t> indices, TensorFormat, const Tensor& x,
                    const Tensor& targets) const override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      met_ |= ++inside_ > 1;
      news_.notify_all();
      if (!news_.wait_for(lock, std::chrono::minutes(1), [this] { return met_; })) {
        return absl::DeadlineExceededError("nobody else reads");
      }
    }
    std::fill_n(x.data<float>(), x.num_elements(), 0.f);
    for (size_t i = 0; i < indices.size(); ++i)
      targets.data<int32_t>()[i] = int32_t(indices[i] % 4);
    std::unique_lock<std::mutex> lock(mutex_);
    --inside_;
    return absl::OkStatus();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable news_;
  mutable int inside_ = 0;
  mutable bool met_ = false;
};

TEST(SessionTest, ImagesAreDecodedBySeveralThreads) {
  SetNumThreads(2);
  const Decoded data;
  const auto session = Must(Session::Create(Small(data)));
  EXPECT_EQ(session->Fit(data, {.batch = 16}), absl::OkStatus());
}

TEST(SessionTest, RanksLearnTogether) {
  const auto data = Patterns();
  const auto loss_with = [&](Communicator* communicator, int64_t batch) {
    const auto session = Must(
        Session::Create(Small(*data), {.dtype = DType::kFloat64, .communicator = communicator}));
    // Without the batch normalisation's own view of a rank's samples there is nothing to compare.
    Must(session->Fit(*data, {.epochs = 1, .batch = batch}));
    return Must(session->Evaluate(*data))["categorical_cross_entropy"];
  };
  double losses[2] = {};
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    losses[communicator.rank()] = loss_with(&communicator, 10);
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NEAR(losses[0], loss_with(nullptr, 20), 0.3);
}

}  // namespace
}  // namespace dtnn
