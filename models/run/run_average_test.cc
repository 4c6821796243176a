// Runs that keep an average of their parameters.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/training/trainer.h"
#include "optim/optimizers/adam.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunAverageTest = RunFixture;

RunOptions Averaging(int64_t epochs) {
  RunOptions options = Short(epochs);
  options.optimizer.average_decay = 0.75;
  return options;
}

// The parameters that training continues with; without an average those of all.
std::vector<float> Raw(TrainingRun& run) {
  const Tensor raw = run.store().average_slot() ? run.store().slots().back() : run.store().values();
  return {raw.data<float>(), raw.data<float>() + raw.num_elements()};
}

TEST_F(RunAverageTest, TestsAndModelsHaveTheAverageAndTrainingDoesNot) {
  RunOptions options = Averaging(2);
  options.output.model = In("averaged.npz");
  const auto averaged = Begin(options), plain = Begin(Short(2));
  Must(averaged->Fit());
  Must(plain->Fit());
  EXPECT_EQ(Raw(*averaged), Raw(*plain)) << "to the last bit";
  EXPECT_NE(Parameters(*averaged), Parameters(*plain));
  const double loss = Must(averaged->Evaluate())["categorical_cross_entropy"];
  EXPECT_NE(loss, Must(plain->Evaluate())["categorical_cross_entropy"]);
  // A run that begins with the model begins with the average.
  RunOptions again = Short(1);
  again.network.weights = In("averaged.npz");
  const auto loaded = Begin(again);
  EXPECT_EQ(Parameters(*loaded), Parameters(*averaged));
  EXPECT_EQ(Must(loaded->Evaluate())["categorical_cross_entropy"], loss);
}

TEST_F(RunAverageTest, AnotherFitGoesOnWithBoth) {
  const auto whole = Begin(Averaging(3)), in_parts = Begin(Averaging(1));
  Must(whole->Fit());
  Must(in_parts->Fit());
  Must(in_parts->Evaluate().status());
  Must(in_parts->Fit(2));
  EXPECT_EQ(Parameters(*in_parts), Parameters(*whole));
  EXPECT_EQ(Raw(*in_parts), Raw(*whole));
}

TEST_F(RunAverageTest, ResumesWhereTheRunHadOneOnly) {
  RunOptions options = Averaging(1);
  options.checkpoint.folder = In("checkpoints");
  Must(Begin(options)->Execute());
  options.training.epochs = 3;
  options.checkpoint.resume = Resume::kYes;
  {
    const auto resumed = Begin(options), whole = Begin(Averaging(3));
    Must(resumed->Fit());
    Must(whole->Fit());
    EXPECT_EQ(Parameters(*resumed), Parameters(*whole));
  }
  options.optimizer.average_decay = 0;
  EXPECT_THAT(Message(TrainingRun::Create(options, Objects()).status()),
              HasSubstr("a run with an average of its parameters; this one has none"));
}

TEST_F(RunAverageTest, ParametersThatAProgramWritesAfterAResumeAreTrainedOn) {
  RunOptions options = Averaging(1);
  options.checkpoint.folder = In("checkpoints");
  Must(Begin(options)->Execute());
  options.training.epochs = 2;
  options.training.steps_per_epoch = 1;
  options.checkpoint.resume = Resume::kYes;
  options.data.validation_split = 0;
  const auto resumed = Begin(options);
  resumed->trainer().set_learning_rate(1e-6);
  const Tensor values = resumed->store().values();
  std::fill_n(values.data<float>(), size_t(values.num_elements()), 0.0f);
  resumed->store().MarkChanged();
  Must(resumed->Fit());
  for (const float value : Raw(*resumed)) EXPECT_LT(std::abs(value), 1e-4);
}

TEST_F(RunAverageTest, AnOptimizerObjectHasADecayOfItsOwn) {
  RunObjects objects = Objects();
  objects.optimizer = Adam({.average_decay = 0.75});
  const auto by_object = Begin(Short(2), objects), by_option = Begin(Averaging(2));
  EXPECT_EQ(by_object->options().optimizer.average_decay, 0.75);
  Must(by_object->Fit());
  Must(by_option->Fit());
  EXPECT_EQ(Parameters(*by_object), Parameters(*by_option));
}

}  // namespace
}  // namespace dtnn
