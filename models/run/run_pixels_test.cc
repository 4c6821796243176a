// Runs of networks that classify pixels.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/datasets/arrays/array_dataset.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/rotate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "models/zoo/unet.h"
#include "tensor/must.h"
#include "tensor/philox.h"

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

std::shared_ptr<const Dataset> ShapeData() {
  return Must(MakeArrayDataset(Shapes(48, 1), Shapes(16, 2),
                               {.sample = {kSide, kSide, 1},
                                .dtype = DType::kUint8,
                                .targets = TargetKind::kPixels,
                                .name = "shapes"}));
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
  RunOptions mixup = ShortPixels(1);
  mixup.data.augment.mixup = 0.2;
  EXPECT_THAT(refusal(mixup, {.network = SmallUNet(*data), .dataset = data}),
              HasSubstr("needs one class per sample, but shapes has classes of pixels"));
}

}  // namespace
}  // namespace dtnn
