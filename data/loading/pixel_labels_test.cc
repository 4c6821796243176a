// Labels of pixels in batches: whatever moves the pixels of an image moves their labels too.

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "data/datasets/arrays/array_dataset.h"
#include "data/loading/loader.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/crop.h"
#include "data/transforms/cutout.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"
#include "data/transforms/resized_crop.h"
#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Values;

constexpr int64_t kSamples = 12, kHeight = 9, kWidth = 7, kPixels = kHeight * kWidth;

// Each channel of a pixel is one more than its label; bytes are that too.
std::shared_ptr<const Dataset> Data(DType dtype) {
  SampleArrays arrays = {.size = kSamples};
  for (int64_t i = 0; i < kSamples * kPixels; ++i) arrays.classes.push_back(int32_t(i * 7 % 51));
  const auto fill = [&]<typename T>(T) {
    auto values = std::make_shared<std::vector<T>>();
    for (const int32_t label : arrays.classes) values->insert(values->end(), 3, T(label + 1));
    arrays.x = values->data();
    arrays.owner = values;
  };
  dtype == DType::kUint8 ? fill(uint8_t{}) : fill(float{});
  return *MakeArrayDataset(
      std::move(arrays), {},
      {.sample = {kHeight, kWidth, 3}, .dtype = dtype, .targets = TargetKind::kPixels});
}

std::vector<int64_t> AllSamples() {
  std::vector<int64_t> indices(kSamples);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

const TransformList kMoves = {Flip(), Flip({.vertical = true}), Crop({.size = 6}),
                              PadCrop({.padding = 2}),
                              Cutout({.size = 3, .fill = CutoutFill::kZero})};

TEST(PixelLabelsTest, FollowTheirPixels) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto loader = *Loader::Create(Data(DType::kFloat32), Split::kTrain, AllSamples(),
                                        {.batch = 5, .format = format, .transforms = kMoves});
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader->StartEpoch(epoch);
      int64_t unlabelled = 0, moved = 0;
      for (int64_t step = 0; step < loader->steps(); ++step) {
        const Batch& batch = **loader->Next();
        const int64_t n = batch.x.shape()[0];
        ASSERT_EQ(batch.targets.shape(), (Shape{n, kHeight, kWidth}));
        const std::vector<double> x = Values(batch.x), labels = Values(batch.targets);
        for (int64_t i = 0; i < n * kPixels; ++i) {
          const int64_t first =
              format == TensorFormat::kNHWC ? 3 * i : i / kPixels * 3 * kPixels + i % kPixels;
          ASSERT_EQ(labels[size_t(i)] + 1, x[size_t(first)]) << i;
          unlabelled += labels[size_t(i)] < 0;
          moved += i > 0 && i % kWidth > 0 && labels[size_t(i)] < labels[size_t(i - 1)];
        }
      }
      EXPECT_GT(unlabelled, 0) << "hidden pixels have no label";
      EXPECT_GT(moved, 0);
    }
  }
}

TEST(PixelLabelsTest, OfBatchesOfBytesAreTheSame) {
  LoaderOptions options = {.batch = 4, .transforms = kMoves};
  const auto values = *Loader::Create(Data(DType::kUint8), Split::kTrain, AllSamples(), options);
  options.bytes = true;
  const auto bytes = *Loader::Create(Data(DType::kUint8), Split::kTrain, AllSamples(), options);
  values->StartEpoch(1);
  bytes->StartEpoch(1);
  for (int64_t step = 0; step < values->steps(); ++step) {
    EXPECT_EQ(Values((*values->Next())->targets), Values((*bytes->Next())->targets));
  }
}

TEST(PixelLabelsTest, StayWhereColoursChange) {
  const auto data = Data(DType::kUint8);
  const auto loader = *Loader::Create(data, Split::kTrain, AllSamples(),
                                      {.batch = kSamples, .transforms = {ColorJitter()}});
  const auto plain = *Loader::Create(data, Split::kTrain, AllSamples(), {.batch = kSamples});
  loader->StartEpoch(0);
  plain->StartEpoch(0);
  EXPECT_EQ(Values((*loader->Next())->targets), Values((*plain->Next())->targets));
}

TEST(PixelLabelsTest, OtherTransformsAreRefused) {
  for (const auto& transform : {ResizedCrop(), Cutout({.size = 3, .fill = CutoutFill::kMean})}) {
    const absl::Status status = Loader::Create(Data(DType::kUint8), Split::kTrain, AllSamples(),
                                               {.batch = 4, .transforms = {transform}})
                                    .status();
    EXPECT_EQ(std::string(status.message()),
              ToString(*transform) +
                  ": computes values of neighbours, or a mean, which labels of pixels do not have; "
                  "those that move pixels (flip, crop, pad_crop, cutout with zero) and "
                  "color_jitter fit");
  }
}

}  // namespace
}  // namespace dtnn
