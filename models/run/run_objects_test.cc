#include "models/run/objects/run_objects.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "data/transforms/flip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "optim/losses/better.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/losses.h"
#include "optim/metrics/metric.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"
#include "optim/schedulers/early_stopping.h"
#include "tensor/must.h"
#include "tensor/tensor.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunObjectsTest = RunFixture;

TEST_F(RunObjectsTest, ObjectsOfAProgramReplaceNames) {
  RunOptions options = Short(1);
  RunObjects objects = Objects();
  objects.loss = Must(MakeLoss("mse"));
  objects.optimizer = std::make_shared<Adam>();
  options.optimizer.name = "none of ours";
  options.output.model = In("m.safetensors");
  const auto run = Begin(options, objects);
  EXPECT_EQ(run->options().training.loss, "mse");
  EXPECT_EQ(run->options().optimizer.name, "adam");
  Must(run->Fit());
  EXPECT_EQ(Model("m.safetensors").description.loss, "mse");
}

TEST_F(RunObjectsTest, SchedulersWatchALossObject) {
  RunOptions options = Short(1);
  options.schedule = {};
  RunObjects objects = Objects();
  objects.loss = Must(MakeLoss("mae"));
  const auto run = Begin(options, objects);
  EXPECT_EQ(run->options().schedule.early_stopping.metric, "val_mae");
  options.training.class_weights = "balanced";
  EXPECT_THAT(Message(TrainingRun::Create(options, objects).status()),
              HasSubstr("RunOptions::training.class_weights"));
}

TEST_F(RunObjectsTest, ValuesAndNamesMeanTheSame) {
  const auto loss_of = [&](RunObjects objects) {
    const auto run = Begin(Short(1), std::move(objects));
    Must(run->Fit());
    return Must(run->Evaluate())["categorical_cross_entropy"];
  };
  const double by_name = loss_of(Objects());
  RunObjects objects = Objects();
  objects.loss = CategoricalCrossEntropy();
  objects.optimizer = Adam();
  objects.metrics = {Must(MakeMetric("categorical_accuracy"))};
  EXPECT_EQ(loss_of(objects), by_name);
  objects.optimizer = Sgd({.momentum = 0.5});
  EXPECT_NE(loss_of(objects), by_name);
  objects = Objects();
  objects.transforms = {Flip({.probability = 1})};
  EXPECT_NE(loss_of(objects), by_name);
}

TEST_F(RunObjectsTest, OptionsInForceHaveTheConstantsOfAnOptimizer) {
  RunObjects objects = Objects();
  objects.optimizer = Adam({.beta1 = 0.75, .decay = 0.25, .decay_vectors = false});
  const RunOptions options = Short(1);
  const auto run = Begin(options, objects);
  EXPECT_EQ(run->options().optimizer.beta1, 0.75);
  EXPECT_EQ(run->options().optimizer.decay_all, false);
  Must(TrainingRun::Create(run->options(), objects).status());
  Must(TrainingRun::Create(run->options(), Objects()).status());
  RunOptions other = options;
  other.optimizer.beta1 = 0.5;
  EXPECT_THAT(Message(TrainingRun::Create(other, objects).status()),
              HasSubstr("RunOptions::optimizer.beta1=0.5: cannot be used together with an"));
}

TEST_F(RunObjectsTest, NeedsOfARunWithAMetricOfAProgramAreKnown) {
  struct Samples : Metric {
    std::string_view name() const override { return "samples"; }
    Better better() const override { return Better::kLarger; }
    bool TakesClasses() const override { return true; }
    bool TakesValues() const override { return true; }
    void Add(const Tensor& predictions, const Tensor&, std::span<double> sums) const override {
      sums[0] += double(predictions.shape()[0]);
    }
    std::string Format(std::string_view, double) const override { return ""; }
  };
  RunObjects objects = Objects();
  objects.metrics = {Samples()};
  EXPECT_EQ(Must(Begin(Short(1), objects)->Evaluate())["samples"], 1);
  EXPECT_EQ(Must(TrainingRun::Needs(Short(1), objects)).batch, 20);
}

TEST_F(RunObjectsTest, OptionsInForceHaveTheirNames) {
  RunObjects objects = Objects();
  objects.metrics = {Must(MakeMetric("f1_score"))};
  objects.schedulers = {EarlyStopping({.metric = "val_f1_score", .better = Better::kLarger})};
  const auto run = Begin(Short(1), objects);
  EXPECT_EQ(run->options().training.metrics, std::vector<std::string>{"f1_score"});
  EXPECT_EQ(run->options().schedule.schedulers, std::vector<std::string>{"early_stopping"});
  EXPECT_EQ(Must(run->Evaluate()).Values().size(), 2);
  objects.metrics = {};
  EXPECT_THAT(Message(TrainingRun::Create(Short(1), objects).status()),
              HasSubstr("val_f1_score, which this run does not compute"));
}

TEST_F(RunObjectsTest, SchedulersOfAProgramEndTheRunWithItsBestEpoch) {
  RunOptions options = Short(50);
  options.output.model = In("m.npz");
  RunObjects objects = Objects();
  // The first epoch has the largest loss.
  objects.schedulers = {EarlyStopping(
      {.metric = "categorical_cross_entropy", .better = Better::kLarger, .patience = 2})};
  const auto run = Begin(options, objects);
  Must(run->Fit());
  EXPECT_EQ(run->trainer().epochs_done(), 3);
  EXPECT_EQ(Model("m.npz").description.training.epochs, 1);
  EXPECT_EQ(Model("m.npz").description.training.run_epochs, 3);
  const auto first = Begin(Short(1));
  Must(first->Fit());
  EXPECT_EQ(Parameters(*run), Parameters(*first));
}

// Images, of which every Read waits until another one is under way.
class Decoded : public Dataset {
 public:
  std::string_view name() const override { return "decoded"; }
  ImageExtents sample() const override { return {8, 8, 1}; }
  int64_t outputs() const override { return 4; }
  int64_t size(Split) const override { return 32; }
  bool decodes() const override { return true; }
  absl::Status Read(Split, std::span<const int64_t> indices, TensorFormat, const Tensor& x,
                    const Tensor& targets) const override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      met_ |= ++inside_ > 1;
      news_.notify_all();
      if (!news_.wait_for(lock, std::chrono::minutes(1), [this] { return met_; })) {
        return absl::DeadlineExceededError("no other thread reads");
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

TEST_F(RunObjectsTest, DataAreBorrowedAndTheirImagesDecodedBySeveralThreads) {
  SetNumThreads(2);
  const Decoded data;
  RunOptions options = Short(1);
  options.training.batch = 16;
  const auto run = Begin(options, {.network = Small(data), .dataset = data});
  EXPECT_EQ(&run->dataset(), &data);
  EXPECT_EQ(run->Fit(), absl::OkStatus());
}

// A label that is not a class.
class Unlabelled : public Decoded {
 public:
  std::vector<int32_t> labels(Split split) const override {
    std::vector<int32_t> labels(size_t(size(split)));
    labels[5] = -1;
    return labels;
  }
};

TEST_F(RunObjectsTest, LabelsOfOwnDataMustBeClasses) {
  const Unlabelled data;
  for (const char* part : {"", "1/2@dirichlet:0.3"}) {
    RunOptions options = Short(1);
    options.data.part = part;
    options.training.class_weights = "balanced";
    EXPECT_THAT(
        Message(TrainingRun::Create(options, {.network = Small(data), .dataset = data}).status()),
        HasSubstr(" (train split): sample 5 has label -1, but there are 4 classes"));
  }
}

}  // namespace
}  // namespace dtnn
