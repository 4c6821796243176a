// Runs of networks that classify pixels.

#include <cmath>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "data/datasets/arrays/array_dataset.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/rotate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/zoo/unet.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/must.h"
#include "tensor/philox.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunPixelsTest = RunFixture;

constexpr int64_t kSide = 16;

// Noise with a bright rectangle (class 1) and a brighter one (class 2); the frame has no label.
SampleArrays Shapes(int64_t n, uint64_t seed) {
  auto images = std::make_shared<std::vector<uint8_t>>();
  SampleArrays arrays = {.size = n};
  const Philox random(seed, 7);
  uint64_t drawn = 0;
  const auto below = [&](int64_t bound) {
    return int64_t(random.Block(drawn++)[0] % uint64_t(bound));
  };
  for (int64_t i = 0; i < n; ++i) {
    std::vector<int32_t> labels(kSide * kSide);
    for (const int32_t shape : {1, 2}) {
      const int64_t top = below(kSide - 6), left = below(kSide - 6);
      for (int64_t y = top; y < top + 6; ++y) {
        for (int64_t x = left; x < left + 6; ++x) labels[size_t(y * kSide + x)] = shape;
      }
    }
    for (int64_t p = 0; p < kSide * kSide; ++p) {
      const int64_t y = p / kSide, x = p % kSide;
      const int32_t label = labels[size_t(p)];
      images->push_back(uint8_t(80 * label + below(60)));
      const bool frame = y == 0 || x == 0 || y == kSide - 1 || x == kSide - 1;
      arrays.classes.push_back(frame ? kUnlabelledPixel : label);
    }
  }
  arrays.x = images->data();
  arrays.owner = images;
  return arrays;
}

std::shared_ptr<const Dataset> ShapeData(SampleArrays train, SampleArrays test) {
  return Must(MakeArrayDataset(std::move(train), std::move(test),
                               {.sample = {kSide, kSide, 1},
                                .dtype = DType::kUint8,
                                .targets = TargetKind::kPixels,
                                .name = "shapes"}));
}

std::shared_ptr<const Dataset> ShapeData() { return ShapeData(Shapes(48, 1), Shapes(16, 2)); }

// The same with labels in the first `rows(i)` rows of image i alone.
template <typename Rows>
SampleArrays LabelledAtTheTop(SampleArrays arrays, Rows rows) {
  for (int64_t i = 0; i < arrays.size; ++i) {
    for (int64_t p = rows(i) * kSide; p < kSide * kSide; ++p) {
      arrays.classes[size_t(i * kSide * kSide + p)] = kUnlabelledPixel;
    }
  }
  return arrays;
}

Network SmallUNet(const Dataset& data) {
  Network net("small_unet");
  const int64_t classes = data.outputs();
  net.Input(data).Then([=](GraphBuilder& b) { AppendUNet(b, {.width = 4, .depth = 2}, classes); });
  return net.Softmax();
}

RunOptions ShortPixels(int64_t epochs) {
  RunOptions options = Short(epochs);
  options.training.batch = 8;
  return options;
}

TEST_F(RunPixelsTest, AUNetLearnsShapes) {
  const auto data = ShapeData();
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    RunOptions options = ShortPixels(60);
    options.network.format = Name(format);
    const auto run =
        Begin(options, {.network = SmallUNet(*data),
                        .dataset = data,
                        .transforms = {Flip(), ColorJitter({.brightness = 0.05, .contrast = 0})}});
    Must(run->Fit());
    const MetricAverages averages = Must(run->Evaluate());
    EXPECT_GT(averages["mean_iou"], 0.9);
    EXPECT_GT(averages["categorical_accuracy"], 90);
    EXPECT_LT(averages["categorical_accuracy"], 100.001);
  }
}

TEST_F(RunPixelsTest, ContinuesAfterASignalInAnEpochToTheLastBit) {
  struct Sender : Callback {
    absl::Status OnBatchBegin(const Pass& pass) override {
      const bool training = pass.kind == Pass::Kind::kTraining;
      if (training && pass.epoch == 1 && pass.step == 2) std::raise(SIGTERM);
      return absl::OkStatus();
    }
  };
  const auto data = ShapeData();
  RunOptions options = ShortPixels(3);
  options.training.class_weights = "1,2,3";
  RunObjects objects = {.network = SmallUNet(*data),
                        .dataset = data,
                        .transforms = {Flip(), ColorJitter({.brightness = 0.1, .contrast = 0})},
                        .stop_on_signal = true};
  const auto whole = Begin(options, objects);
  Must(whole->Fit());

  options.checkpoint = {.folder = In("c"), .resume = Resume::kIfThere};
  Sender sender;
  objects.callbacks = {&sender};
  EXPECT_TRUE(absl::IsCancelled(Begin(options, objects)->Fit()));
  objects.callbacks = {};
  const auto resumed = Begin(options, objects);
  // An epoch has five steps: a fifth of the samples is for validation.
  EXPECT_EQ(resumed->trainer().steps_done(), 8);
  Must(resumed->Fit());
  EXPECT_EQ(Parameters(*resumed), Parameters(*whole));
  EXPECT_EQ(Must(resumed->Evaluate()).ToDoubles(), Must(whole->Evaluate()).ToDoubles());
}

// The first images have no label, the last have 15 rows of them; no batch normalisation, so that
// two ranks compute what one does.
TEST_F(RunPixelsTest, RanksWithDifferentNumbersOfLabelledPixelsMeasureWhatOneDoes) {
  const auto rows = [](int64_t i) { return i % 16 * (i % 16) / 15; };
  const auto data =
      ShapeData(LabelledAtTheTop(Shapes(48, 1), rows), LabelledAtTheTop(Shapes(16, 2), rows));
  Network net("pixels");
  net.Input(*data).Conv2d(4, {.padding = 1}).Relu().Conv2d(data->outputs(), {.padding = 1});
  const RunObjects objects = {.network = net.Softmax(), .dataset = data};
  RunOptions options = ShortPixels(2);
  options.training.batch = 16;
  const auto alone = Begin(options, objects);
  const MetricAverages before = Must(alone->Evaluate());
  Must(alone->Fit());
  const MetricAverages after = Must(alone->Evaluate());
  EXPECT_NE(before["mean_iou"], after["mean_iou"]);

  options.training.batch = 8;
  options.ranks.parallel = Parallel::kData;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) -> absl::Status {
    RunObjects of_rank = objects;
    of_rank.communicator = &communicator;
    DTNN_ASSIGN_OR_RETURN(const auto run, TrainingRun::Create(options, of_rank));
    DTNN_ASSIGN_OR_RETURN(const MetricAverages first, run->Evaluate());
    EXPECT_EQ(first.samples(), 16);
    EXPECT_EQ(first["categorical_accuracy"], before["categorical_accuracy"]);
    EXPECT_EQ(first["mean_iou"], before["mean_iou"]);
    EXPECT_NEAR(first.Value(0), before.Value(0), 1e-6);
    DTNN_RETURN_IF_ERROR(run->Fit());
    DTNN_ASSIGN_OR_RETURN(const MetricAverages last, run->Evaluate());
    EXPECT_NEAR(last.Value(0), after.Value(0), 1e-5);
    EXPECT_NEAR(last["categorical_accuracy"], after["categorical_accuracy"], 0.3);
    EXPECT_NEAR(last["mean_iou"], after["mean_iou"], 3e-3);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(RunPixelsTest, WeightsOfClassesAreThoseOfAListAndOfAFile) {
  const auto data = ShapeData();
  const RunObjects objects = {.network = SmallUNet(*data), .dataset = data};
  const auto trained = [&](const std::string& weights) {
    RunOptions options = ShortPixels(1);
    options.training.class_weights = weights;
    const auto run = Begin(options, objects);
    Must(run->Fit());
    return Parameters(*run);
  };
  std::ofstream(In("weights.txt")) << "0.5\n2\n4\n";
  const std::vector<float> listed = trained("0.5,2,4");
  EXPECT_EQ(listed, trained(In("weights.txt")));
  EXPECT_NE(listed, trained(""));
  RunObjects weighted = objects;
  weighted.loss = std::make_shared<CategoricalCrossEntropy>(
      CategoricalCrossEntropyOptions{.class_weights = {0.5, 2, 4}});
  const auto run = Begin(ShortPixels(1), weighted);
  Must(run->Fit());
  EXPECT_EQ(listed, Parameters(*run));
}

TEST_F(RunPixelsTest, WithoutALabelledPixelThereIsALossOfZeroAndNoMetric) {
  const auto data =
      ShapeData(Shapes(48, 1), LabelledAtTheTop(Shapes(16, 2), [](int64_t) { return 0; }));
  const auto run = Begin(ShortPixels(1), {.network = SmallUNet(*data), .dataset = data});
  Must(run->Fit());
  const MetricAverages averages = Must(run->Evaluate());
  EXPECT_EQ(averages.Format("val_"), "val_cce: 0.0000000, no labelled pixel");
  EXPECT_TRUE(std::isnan(averages["mean_iou"]));
}

TEST_F(RunPixelsTest, SaysWhatDoesNotFit) {
  const auto data = ShapeData();
  const auto refusal = [](const RunOptions& options, RunObjects objects) {
    return Message(TrainingRun::Create(options, std::move(objects)).status());
  };
  EXPECT_EQ(refusal(ShortPixels(1), {.network = Small(*data), .dataset = data}),
            "network small gives no image, but data set shapes has classes of pixels; unet gives a "
            "class for each pixel");
  EXPECT_EQ(refusal(ShortPixels(1), {.network = SmallUNet(*Patterns(16)), .dataset = Patterns(16)}),
            "network small_unet gives a class for each pixel, but data set synthetic has classes, "
            "one per sample");
  RunOptions mse = ShortPixels(1);
  mse.training.loss = "mse";
  EXPECT_THAT(refusal(mse, {.network = SmallUNet(*data), .dataset = data}),
              HasSubstr("mse does not fit data set shapes, whose targets are classes of pixels; "
                        "categorical_cross_entropy is for these"));
  EXPECT_THAT(refusal(ShortPixels(1),
                      {.network = SmallUNet(*data), .dataset = data, .transforms = {Rotate()}}),
              HasSubstr("computes values of neighbours, or a mean, which labels of pixels do not "
                        "have"));
  RunOptions balanced = ShortPixels(1);
  balanced.training.class_weights = "balanced";
  EXPECT_EQ(refusal(balanced, {.network = SmallUNet(*data), .dataset = data}),
            "RunOptions::training.class_weights=balanced: counts the samples of each class, but "
            "shapes has a class for each pixel; give a weight for each class");
  RunOptions two = ShortPixels(1);
  two.training.class_weights = "1,2";
  EXPECT_EQ(refusal(two, {.network = SmallUNet(*data), .dataset = data}),
            "RunOptions::training.class_weights: has 2 weights, but shapes has 3 classes");
  RunOptions mixup = ShortPixels(1);
  mixup.data.augment.mixup = 0.2;
  EXPECT_THAT(refusal(mixup, {.network = SmallUNet(*data), .dataset = data}),
              HasSubstr("needs one class per sample, but shapes has classes of pixels"));
}

}  // namespace
}  // namespace dtnn
