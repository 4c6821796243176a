#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using RunEvaluateTest = RunFixture;

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

TEST_F(RunEvaluateTest, TheSplitThatIsAskedFor) {
  const Marked data;
  const auto run =
      Begin({.schedule = {.schedulers = {}}}, {.network = Small(data), .dataset = data});
  const auto accuracy = [&](Split split) {
    return Must(run->Evaluate(split))["categorical_accuracy"];
  };
  const double of_test = accuracy(Split::kTest), of_train = accuracy(Split::kTrain);
  EXPECT_EQ(of_test + of_train, 100);
  EXPECT_NE(of_test, of_train);
  EXPECT_EQ(Must(run->Evaluate())["categorical_accuracy"], of_test);
  EXPECT_TRUE(std::isnan(Must(run->Evaluate())["f1_score"])) << "which was not asked for";
}

TEST_F(RunEvaluateTest, OtherDataAreShownAsThoseOfTraining) {
  RunOptions options = Short(1);
  options.data.standardize = true;
  const auto run = Begin(options);
  Must(run->Fit());
  const auto same = Patterns();
  EXPECT_EQ(Must(run->Evaluate(*same)).Values(), Must(run->Evaluate()).Values());
  EXPECT_EQ(Must(run->Evaluate(*same, Split::kTrain)).samples(), 120);
}

TEST_F(RunEvaluateTest, OtherDataOnAGpu) {
  RunOptions options = Short(1);
  options.device = {.gpu = true, .gpu_device = "simulated"};
  options.network.format = "NHWC";
  const auto on_gpu = Begin(options), on_cpu = Begin(Short(1));
  const auto same = Patterns();
  const double loss = Must(on_gpu->Evaluate(*same)).Value(0);
  EXPECT_EQ(loss, Must(on_gpu->Evaluate()).Value(0));
  EXPECT_NEAR(loss, Must(on_cpu->Evaluate(*same)).Value(0), 1e-5);
}

TEST_F(RunEvaluateTest, DataThatDoNotFitAreRefusedAndTheRunContinues) {
  const auto run = Begin(Short(1));
  EXPECT_THAT(Message(run->Evaluate(*Patterns(/*side=*/9)).status()),
              AllOf(HasSubstr("9x9x1"), HasSubstr("6x6x1")));
  EXPECT_THAT(Message(run->Evaluate(*Patterns(12, 1, {.resize = 6})).status()),
              HasSubstr("resized to 6 x 6"));
  Must(run->Fit());
  EXPECT_TRUE(run->Evaluate().ok());
}

TEST_F(RunEvaluateTest, ClassesAreRefusedWhereTheRunHasValues) {
  class Values : public Marked {
    TargetKind target_kind() const override { return TargetKind::kValues; }
    absl::Status Read(Split, std::span<const int64_t>, TensorFormat, const Tensor& x,
                      const Tensor& targets) const override {
      std::fill_n(x.data<float>(), x.num_elements(), 1.f);
      std::fill_n(targets.data<float>(), targets.num_elements(), 1.f);
      return absl::OkStatus();
    }
  };
  const Values values;
  const Marked classes;
  RunOptions options = Short(1);
  options.training.loss = "mse";
  const auto run = Begin(options, {.network = Small(values), .dataset = values});
  EXPECT_THAT(Message(run->Evaluate(classes).status()),
              HasSubstr("has classes to predict, but the run was made for values"));
  EXPECT_TRUE(run->Evaluate().ok());
}

TEST_F(RunEvaluateTest, AStoppedTestIsKeptNowhere) {
  struct StopTest : Callback {
    absl::Status OnBatchEnd(const Pass& pass) override {
      if (pass.kind == Pass::Kind::kTest && wanted) pass.trainer->Stop();
      return absl::OkStatus();
    }
    bool wanted = true;
  } stop;
  RunOptions options = Short(1);
  options.output.history = In("h.csv");
  RunObjects objects = Objects();
  objects.callbacks = {&stop};
  const auto run = Begin(options, objects);
  Must(run->Fit());
  const std::string before = Read("h.csv");
  EXPECT_TRUE(absl::IsCancelled(run->Evaluate().status()));
  EXPECT_EQ(Read("h.csv"), before);
  stop.wanted = false;
  EXPECT_TRUE(run->Evaluate().ok()) << "the run continues";
  EXPECT_NE(Read("h.csv"), before);
}

TEST_F(RunEvaluateTest, StepsThatTheRunDoesNotHaveAreRefused) {
  class TrainOnly : public Marked {
    int64_t size(Split split) const override { return split == Split::kTrain ? 6 : 0; }
  };
  const TrainOnly data;
  RunOptions options = {.schedule = {.schedulers = {}}};
  const auto run = Begin(options, {.network = Small(data), .dataset = data});
  EXPECT_EQ(Message(run->Evaluate().status()),
            "data set marked has no test samples; test with a data set that has some");
  options = Short(1);
  options.training.evaluate_only = true;
  EXPECT_THAT(Message(Begin(options)->Fit()), HasSubstr("RunOptions::training.evaluate_only"));
  EXPECT_THAT(Message(Begin(options)->Fit(1)), HasSubstr("RunOptions::training.evaluate_only"));
}

}  // namespace
}  // namespace dtnn
