#include "data/datasets/masks/masks.h"

#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/testing/mask_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using testing::EncodeMask;
using testing::EncodePng;
using ::testing::HasSubstr;
using testing::SmoothPixels;
using Bytes = std::vector<uint8_t>;

void Put(const std::string& path, const Bytes& bytes) {
  const std::filesystem::path at = path;
  std::filesystem::create_directories(at.parent_path());
  testing::WriteFile(at.parent_path().string(), at.filename().string(), bytes);
}

Bytes Text(const std::string& text) { return Bytes(text.begin(), text.end()); }

constexpr int kHeight = 2, kWidth = 4;
const Bytes kValues = {0, 1, 2, 255, 3, 0, 1, 2};

Bytes Picture(int seed = 1) {
  return EncodePng(kHeight, kWidth, SmoothPixels(kHeight, kWidth, 3, seed));
}

// One training image of 2 x 4 pixels with four classes, and one test image.
std::string Root() {
  const std::string root = testing::NewFolder("masks");
  Put(root + "/train/images/a.png", Picture(1));
  Put(root + "/train/masks/a.png", EncodeMask(kHeight, kWidth, kValues));
  Put(root + "/test/images/deep/b.jpg", testing::FlatJpeg(kHeight, kWidth, {10, 20, 30}));
  Put(root + "/test/masks/deep/b.png", EncodeMask(kHeight, kWidth, Bytes(8, 1)));
  return root;
}

struct Sample {
  absl::Status status;
  Tensor x, targets;

  std::vector<int32_t> labels(int64_t row = 0) const {
    const int64_t each = targets.num_elements() / targets.shape()[0];
    const int32_t* begin = targets.data<int32_t>() + row * each;
    return {begin, begin + each};
  }
};

Sample ReadSamples(const Dataset& dataset, Split split, std::vector<int64_t> indices) {
  const int64_t n = int64_t(indices.size());
  const Shape shape = SampleShape(dataset.sample(), TensorFormat::kNHWC).Prepend(n);
  Sample sample = {absl::OkStatus(), Tensor::Zeros(DType::kFloat32, shape).value(),
                   Tensor::Zeros(DType::kInt32, TargetShape(dataset, n)).value()};
  sample.status = dataset.Read(split, indices, TensorFormat::kNHWC, sample.x, sample.targets);
  return sample;
}

std::string OpenError(const std::string& root, bool test = true) {
  const absl::Status status = OpenMasks({.train = root, .test = test ? root : ""}).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

std::string ReadError(const std::string& root) {
  const auto masks = OpenMasks({.train = root});
  EXPECT_TRUE(masks.ok()) << masks.status();
  return masks.ok() ? std::string(ReadSamples(**masks, Split::kTrain, {0}).status.message()) : "";
}

TEST(MasksTest, PixelsOfAMaskAreClassesAnd255IsNone) {
  const std::string root = Root();
  const auto masks = OpenMasks({.train = root, .test = root}).value();
  EXPECT_EQ(masks->name(), "masks");
  EXPECT_EQ(masks->target_kind(), TargetKind::kPixels);
  EXPECT_EQ(masks->sample(), (ImageExtents{kHeight, kWidth, 3}));
  EXPECT_EQ(masks->outputs(), 4) << "the largest value is 3";
  EXPECT_TRUE(masks->counts_classes());
  EXPECT_EQ(masks->size(Split::kTrain), 1);
  EXPECT_EQ(masks->size(Split::kTest), 1);
  EXPECT_THAT(masks->warnings(), ElementsAre());
  const Sample train = ReadSamples(*masks, Split::kTrain, {0, 0});
  ASSERT_TRUE(train.status.ok()) << train.status;
  for (const int64_t row : {0, 1}) {
    EXPECT_THAT(train.labels(row), ElementsAre(0, 1, 2, -1, 3, 0, 1, 2));
  }
  EXPECT_EQ(train.x.data<float>()[5], SmoothPixels(kHeight, kWidth, 3, 1)[5] * (1.0f / 255));
  EXPECT_EQ(ReadSamples(*masks, Split::kTest, {0}).labels(), std::vector<int32_t>(8, 1));
}

TEST(MasksTest, APaletteIsNotLookedUpAndFewBitsAreNotStretched) {
  const std::string root = Root();
  Put(root + "/train/masks/a.png",
      EncodePng(kHeight, kWidth, Bytes{0, 1, 2, 1, 0, 2, 2, 0},
                {.color_type = 3, .palette = {{9, 9, 9}, {9, 9, 9}, {0, 0, 0}}}));
  const auto palette = OpenMasks({.train = root}).value();
  EXPECT_THAT(ReadSamples(*palette, Split::kTrain, {0}).labels(),
              ElementsAre(0, 1, 2, 1, 0, 2, 2, 0));
  Put(root + "/train/masks/a.png",
      EncodePng(kHeight, kWidth, Bytes{0b10100000, 0b01010000}, {.color_type = 0, .bit_depth = 1}));
  const auto bits = OpenMasks({.train = root}).value();
  EXPECT_EQ(bits->outputs(), 2);
  EXPECT_THAT(ReadSamples(*bits, Split::kTrain, {0}).labels(), ElementsAre(1, 0, 1, 0, 0, 1, 0, 1));
}

TEST(MasksTest, ClassesTxtNamesTheClasses) {
  const std::string root = Root();
  Put(root + "/classes.txt", Text("ground\ncar\nroad\nsky\nbird\n"));
  const auto masks = OpenMasks({.train = root, .test = root}).value();
  EXPECT_THAT(masks->class_names(), ElementsAre("ground", "car", "road", "sky", "bird"));
  EXPECT_EQ(masks->outputs(), 5);
  EXPECT_FALSE(masks->counts_classes());
  EXPECT_FALSE(masks->names_number_classes());
  Put(root + "/classes.txt", Text("ground\ncar\nroad\n"));
  EXPECT_EQ(ReadError(root),
            root +
                "/train/masks/a.png: the pixel in row 1 and column 0, from 0, has class 3, but " +
                root + "/classes.txt names 3 classes, from 0; 255 says that a pixel has none");
  std::string names;
  for (int i = 0; i < 256; ++i) names += "c" + std::to_string(i) + "\n";
  Put(root + "/classes.txt", Text(names));
  EXPECT_EQ(OpenError(root), root +
                                 "/classes.txt: names 256 classes, but masks have values for "
                                 "255 only");
}

// The class of an output pixel is that of the pixel in which its middle lies.
TEST(MasksTest, MasksAreCroppedAndResizedAsTheirImages) {
  const std::string root = testing::NewFolder("masks");
  constexpr int kSide = 16;
  Bytes values, pixels;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      values.push_back(uint8_t(10 * (y / 4) + x / 4));
      for (int c = 0; c < 3; ++c) pixels.push_back(values.back());
    }
  }
  Put(root + "/train/images/a.png", EncodePng(kSide, kSide, pixels));
  Put(root + "/train/masks/a.png", EncodeMask(kSide, kSide, values));
  for (const Geometry& geometry :
       {Geometry{.crop = 0.5}, Geometry{.resize = 4}, Geometry{.crop = 0.5, .resize = 2},
        Geometry{.crop = 0.5, .resize = 16}}) {
    const auto masks = OpenMasks({.train = root, .geometry = geometry}).value();
    const Sample sample = ReadSamples(*masks, Split::kTrain, {0});
    ASSERT_TRUE(sample.status.ok()) << sample.status;
    const int side = int(masks->sample().width);
    const int from = geometry.crop < 1 ? 4 : 0, kept = kSide - 2 * from;
    std::vector<int32_t> expected;
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const int row = from + int((y + 0.5) * kept / side);
        const int column = from + int((x + 0.5) * kept / side);
        expected.push_back(values[size_t(row * kSide + column)]);
      }
    }
    EXPECT_EQ(sample.labels(), expected) << geometry.crop << " " << geometry.resize;
  }
  // The image goes the same way: its pixels have the classes' values.
  const auto masks = OpenMasks({.train = root, .geometry = {.crop = 0.5}}).value();
  const Sample sample = ReadSamples(*masks, Split::kTrain, {0});
  for (size_t i = 0; i < sample.labels().size(); ++i) {
    EXPECT_FLOAT_EQ(sample.x.data<float>()[3 * i] * 255, float(sample.labels()[i]));
  }
}

// A JPEG that is decoded at an eighth of its extents still has a mask of the whole.
TEST(MasksTest, TheMaskOfALargeJpegHasTheExtentsOfItsFile) {
  const std::string root = testing::NewFolder("masks");
  Put(root + "/train/images/a.jpg", testing::FlatJpeg(80, 120, {10, 100, 200}));
  Put(root + "/train/masks/a.png", EncodeMask(80, 120, Bytes(80 * 120, 1)));
  const auto masks = OpenMasks({.train = root, .geometry = {.resize = 4}}).value();
  EXPECT_TRUE(ReadSamples(*masks, Split::kTrain, {0}).status.ok());
  Put(root + "/train/masks/a.png", EncodeMask(10, 15, Bytes(10 * 15, 1)));
  EXPECT_EQ(std::string(ReadSamples(*masks, Split::kTrain, {0}).status.message()),
            root + "/train/masks/a.png: has 15 x 10 pixels, but its image, " + root +
                "/train/images/a.jpg, has 120 x 80; a mask is as large as its image");
}

TEST(MasksTest, AnImageWithoutAMaskIsNamed) {
  const std::string root = Root();
  Put(root + "/train/images/b.png", Picture(2));
  EXPECT_EQ(OpenError(root),
            root + "/train/images/b.png: has no mask; expected " + root + "/train/masks/b.png");
  std::filesystem::remove_all(root + "/train/masks");
  EXPECT_THAT(OpenError(root), HasSubstr("/train/masks: "));
  EXPECT_THAT(OpenError(root), HasSubstr("expected <path>/train/images/<image>, "));
}

TEST(MasksTest, WhatNoSampleIsMadeOfIsAWarning) {
  const std::string root = Root();
  Put(root + "/train/masks/0.png", EncodeMask(1, 1, Bytes{7}));
  Put(root + "/train/masks/z.png", EncodeMask(1, 1, Bytes{7}));
  Put(root + "/train/images/notes.txt", Text("x"));
  std::filesystem::rename(root + "/test", root + "/val");
  const auto masks = OpenMasks({.train = root, .test = root}).value();
  EXPECT_EQ(masks->outputs(), 4) << "the other masks do not count";
  EXPECT_THAT(
      masks->warnings(),
      ElementsAre(
          root + ": has no folder test; " + root + "/val is taken as the test split",
          "1 file is not a JPEG or PNG image and is skipped: " + root + "/train/images/notes.txt",
          "2 masks have no image and are skipped: " + root + "/train/masks/0.png and 1 more"));
}

TEST(MasksTest, OneMaskWithoutAnImageIsNamed) {
  const std::string root = Root();
  Put(root + "/train/masks/z.png", EncodeMask(1, 1, Bytes{7}));
  EXPECT_THAT(OpenMasks({.train = root}).value()->warnings(),
              ElementsAre("1 mask has no image and is skipped: " + root + "/train/masks/z.png"));
}

TEST(MasksTest, TwoImagesDoNotShareAMask) {
  const std::string root = Root();
  Put(root + "/train/images/a.jpg", testing::FlatJpeg(2, 2, {1, 2, 3}));
  EXPECT_EQ(OpenError(root), root +
                                 "/train/images: a.jpg and a.png have one name but for the "
                                 "ending, and an image finds its mask by that name; rename or "
                                 "remove one of them");
}

TEST(MasksTest, OtherKindsOfMasksAreRefused) {
  const std::string root = Root();
  const std::string mask = root + "/train/masks/a.png";
  const std::string expected =
      "; a mask is a grey PNG of 8 bits or one with a palette, where each "
      "pixel's value is its class";
  Put(mask, Picture());
  EXPECT_EQ(OpenError(root, false), mask + ": is in colour" + expected);
  Put(mask, EncodePng(1, 1, Bytes{1, 1}, {.color_type = 4}));
  EXPECT_EQ(OpenError(root, false), mask + ": is grey with alpha" + expected);
  Put(mask, EncodePng(1, 1, Bytes{1, 1}, {.color_type = 0, .bit_depth = 16}));
  EXPECT_EQ(OpenError(root, false), mask + ": is of 16 bits" + expected);
  Put(mask, testing::FlatJpeg(2, 4, {1, 1, 1}));
  EXPECT_EQ(OpenError(root, false), mask +
                                        ": is a JPEG image, which does not keep values exactly; "
                                        "masks must be PNG files");
}

TEST(MasksTest, MasksWithoutClassesAreRefused) {
  const std::string root = Root();
  const std::string mask = root + "/train/masks/a.png";
  Put(mask, EncodeMask(kHeight, kWidth, Bytes{0, 255, 0, 255, 0, 0, 0, 0}));
  EXPECT_EQ(OpenError(root, false),
            root +
                ": the masks hold no values but 0 and 255, which says that a pixel has no "
                "class; classes are 0, 1, and so on");
  Put(mask, EncodeMask(kHeight, kWidth, Bytes(8, 255)));
  EXPECT_THAT(OpenError(root, false), HasSubstr("no values but 255, which says"));
}

// Without classes.txt that is found when the classes are counted, with it when a sample is read.
TEST(MasksTest, EveryCutOfAMaskIsNamedOrSkipped) {
  const std::string root = Root();
  const std::string mask = root + "/train/masks/b.png";
  Put(root + "/train/images/b.png", Picture(2));
  const Bytes whole = EncodeMask(kHeight, kWidth, kValues);
  Bytes cut = whole;
  cut.resize(whole.size() - 20);
  Put(mask, cut);
  const std::string error = mask +
                            ": is truncated; is it complete? "
                            "OpenDatasetOptions::skip_damaged_images leaves damaged images out";
  EXPECT_EQ(OpenError(root), error);
  const auto skipped = OpenMasks({.train = root, .test = root, .skip_damaged = true}).value();
  EXPECT_EQ(skipped->size(Split::kTrain), 1);
  EXPECT_THAT(skipped->warnings(),
              ElementsAre("1 image is damaged and skipped: " + root + "/train/images/b.png"));
  Put(root + "/classes.txt", Text("a\nb\nc\nd\n"));
  const auto masks = OpenMasks({.train = root}).value();
  EXPECT_TRUE(ReadSamples(*masks, Split::kTrain, {0}).status.ok());
  const absl::Status read = ReadSamples(*masks, Split::kTrain, {1}).status;
  EXPECT_EQ(read.message(), error);
  EXPECT_EQ(FindNamedArgument(read)->argument, "OpenDatasetOptions::skip_damaged_images");
}

TEST(MasksTest, AMaskIsAsWideAndAsHighAsItsImage) {
  const std::string root = Root();
  Put(root + "/train/images/a.png", EncodePng(3, 2, SmoothPixels(3, 2, 3)));
  for (const auto& [height, width] : {std::pair(3, 3), {2, 2}, {2, 3}}) {
    Put(root + "/train/masks/a.png", EncodeMask(height, width, Bytes(size_t(height * width), 1)));
    const auto masks = OpenMasks({.train = root, .geometry = {.resize = 4}}).value();
    EXPECT_THAT(std::string(ReadSamples(*masks, Split::kTrain, {0}).status.message()),
                HasSubstr("has 2 x 3; a mask is as large as its image"));
  }
}

TEST(MasksTest, WithoutAResizeAllImagesHaveOneSize) {
  const std::string root = Root();
  Put(root + "/train/images/b.png", EncodePng(3, 3, SmoothPixels(3, 3, 3)));
  Put(root + "/train/masks/b.png", EncodeMask(3, 3, Bytes(9, 1)));
  const auto masks = OpenMasks({.train = root}).value();
  EXPECT_THAT(std::string(ReadSamples(*masks, Split::kTrain, {1}).status.message()),
              HasSubstr("/train/images/b.png: has 3 x 3 pixels, but the first image"));
}

}  // namespace
}  // namespace dtnn
