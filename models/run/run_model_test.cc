// Saved models, and runs that continue with them.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/serving/predictor.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/must.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using RunModelTest = RunFixture;

TEST_F(RunModelTest, ASavedModelIsWholeAndARunContinuesWithIt) {
  RunOptions options = Short(2);
  options.network.dtype = DType::kFloat64;
  options.data.standardize = true;
  const auto run = Begin(options);
  Must(run->Fit());
  const std::string path = In("m.safetensors");
  Must(run->Save(path));
  const NamedMetrics results = Must(run->Evaluate()).Values();

  RunOptions again = Must(TrainingRun::OptionsOfModel(path));
  again.schedule.schedulers = {};
  const auto continued = Begin(again, {.dataset = data_});
  EXPECT_EQ(continued->options().network.dtype, DType::kFloat64);
  EXPECT_EQ(Must(continued->Evaluate()).Values(), results)
      << "with the mean and deviation of the file";
  Must(continued->Fit());

  const auto predictor = Must(Predictor::Load(path));
  const ModelDescription& description = predictor->model().description;
  EXPECT_EQ(description.written_by, "DTNN " + std::string(Version()));
  EXPECT_EQ(description.loss, "categorical_cross_entropy");
  EXPECT_EQ(description.training.dataset, "synthetic");
  EXPECT_EQ(description.training.epochs, 2);
  ASSERT_EQ(description.training.metrics.size(), 4);
  EXPECT_EQ(description.training.metrics[3].first, "val_categorical_accuracy");
  EXPECT_EQ(predictor->model().preprocessing.normalization.offset.size(), 1);
}

TEST_F(RunModelTest, ARunContinuesAsTheModelWasTrained) {
  RunOptions options = Short(1);
  options.training.loss = "binary_cross_entropy";
  options.training.metrics = {};
  options.optimizer = {.name = "sgd", .learning_rate = 0.25, .momentum = 0.5, .decay = 0.25};
  Must(Begin(options)->Save(In("m.npz")));

  RunOptions again = Must(TrainingRun::OptionsOfModel(In("m.npz")));
  again.training.batch = options.training.batch;
  again.training.metrics = {};
  again.schedule.schedulers = {};
  Must(Begin(again, {.dataset = data_})->Save(In("again.npz")));
  EXPECT_EQ(Model("again.npz").description, Model("m.npz").description);
  EXPECT_EQ(again.training.loss, "binary_cross_entropy");
  EXPECT_EQ(again.optimizer.momentum, 0.5);
  EXPECT_EQ(again.optimizer.learning_rate, 0.25);

  again.training.loss = "mse";
  again.optimizer = {.name = "rmsprop", .learning_rate = 0.125};
  Must(Begin(again, {.dataset = data_})->Save(In("others.npz")));
  const ModelDescription others = Model("others.npz").description;
  EXPECT_EQ(others.loss, "mse");
  EXPECT_EQ(others.training.optimizer, "rmsprop");
  EXPECT_EQ(others.training.learning_rate, 0.125);
}

// What no other program knows.
class OwnLoss : public CategoricalCrossEntropy {
 public:
  std::string_view name() const override { return "own_loss"; }
};
class OwnOptimizer : public Adam {
 public:
  std::string_view name() const override { return "own_optimizer"; }
};

TEST_F(RunModelTest, LossAndOptimizerOfAProgramAreGivenAgain) {
  RunObjects objects = Objects();
  objects.loss = OwnLoss();
  objects.optimizer = OwnOptimizer();
  Must(Begin(Short(1), objects)->Save(In("m.npz")));
  RunOptions again = Must(TrainingRun::OptionsOfModel(In("m.npz")));
  again.training.batch = Short(1).training.batch;
  again.schedule.schedulers = {};
  objects = {.dataset = data_, .loss = OwnLoss()};
  EXPECT_THAT(Message(TrainingRun::Create(again, objects).status()),
              AllOf(HasSubstr("RunOptions::optimizer.name"), HasSubstr("own_optimizer")));
  objects.optimizer = OwnOptimizer();
  Must(Begin(again, objects)->Save(In("again.npz")));
  EXPECT_EQ(Model("again.npz").description, Model("m.npz").description);
  objects.loss = nullptr;
  EXPECT_THAT(Message(TrainingRun::Create(again, objects).status()),
              AllOf(HasSubstr("RunOptions::training.loss"), HasSubstr("own_loss")));
}

TEST_F(RunModelTest, AHistoryOfALossOfAProgramIsContinued) {
  RunOptions options = Short(1);
  options.checkpoint.folder = In("c");
  options.output.history = In("h.csv");
  RunObjects objects = Objects();
  objects.loss = OwnLoss();
  Must(Begin(options, objects)->Execute());
  options.training.epochs = 2;
  options.checkpoint.resume = Resume::kYes;
  Must(Begin(options, objects)->Execute());
  const std::string history = Read("h.csv");
  EXPECT_THAT(history, HasSubstr(",own_loss,"));
  EXPECT_EQ(std::ranges::count(history, '\n'), 3) << history;
}

TEST_F(RunModelTest, AModelKnowsTheGeometryOfItsImages) {
  const auto resized = Patterns(12, 1, {.resize = 6});
  RunOptions options = Short(1);
  options.training.steps_per_epoch = 1;
  options.output.model = In("whole.npz");
  Must(Begin(options)->Fit());
  EXPECT_EQ(Model("whole.npz").preprocessing.geometry, ImageGeometry{});
  options.output.model = In("resized.npz");
  Must(Begin(options, {.network = Small(*resized), .dataset = resized})->Fit());
  EXPECT_EQ(Model("resized.npz").preprocessing.geometry->geometry.resize, 6);
}

}  // namespace
}  // namespace dtnn
