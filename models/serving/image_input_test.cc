#include "models/serving/image_input.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/datasets/folder.h"
#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/imagenet/imagenet_shard.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/transforms/transformed.h"
#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Values;

// What training sees of sample 0: as the data set gives it, and then normalised.
std::vector<double> Trained(const Dataset& dataset, const Normalization& by, TensorFormat format,
                            DType dtype) {
  const Tensor x = testing::ZeroTensor(dtype, SampleShape(dataset.sample(), format).Prepend(1));
  const Tensor targets = testing::ZeroTensor(DType::kInt32, Shape{1});
  const std::vector<int64_t> first = {0};
  EXPECT_TRUE(dataset.Read(Split::kTrain, first, format, x, targets).ok());
  DispatchFloating(dtype, [&](auto zero) {
    using T = decltype(zero);
    Normalize(by, dataset.sample(), format, std::span<T>(x.data<T>(), size_t(x.num_elements())));
  });
  return Values(x);
}

// The same of the file, as its preprocessing says.
std::vector<double> Shown(const Preprocessing& preprocessing, const ImageExtents& sample,
                          const std::string& path, TensorFormat format, DType dtype) {
  // Through its text, as it is in files.
  const Preprocessing told = ParsePreprocessing(ToJson(preprocessing), sample.channels).value();
  const Tensor x = testing::ZeroTensor(dtype, SampleShape(sample, format).Prepend(2));
  const ImageInput input = ImageInput::Create(told, sample, format).value();
  const absl::Status status = input.Read(path, x, 1);
  EXPECT_TRUE(status.ok()) << status;
  return Values(x.Samples(1, 1, format));
}

void ExpectAsTrained(const Dataset& dataset, const std::string& path) {
  const Normalization by = {{-0.4, -0.5, -0.6}, {4.1, 4.2, 4.3}};
  Preprocessing preprocessing = dataset.preprocessing();
  AddNormalization(by, preprocessing);
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      EXPECT_EQ(Shown(preprocessing, dataset.sample(), path, format, dtype),
                Trained(dataset, by, format, dtype));
    }
  }
}

class ImageInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::NewFolder("image_input");
    std::filesystem::create_directories(root_ + "/train/one");
    path_ = testing::WriteFile(root_ + "/train/one", "0.png",
                               testing::EncodePng(40, 50, testing::SmoothPixels(40, 50, 3)));
  }
  std::string root_, path_;
};

TEST_F(ImageInputTest, ImageFilesAreShownAsInTraining) {
  for (const Geometry& geometry : {Geometry{}, Geometry{.crop = 0.6}, Geometry{.resize = 17},
                                   Geometry{.crop = 0.875, .resize = 32}}) {
    ExpectAsTrained(**OpenFolder({.train = root_, .geometry = geometry}), path_);
  }
}

// A JPEG that is far larger than what it is resized to is decoded smaller.
TEST_F(ImageInputTest, JpegsAreDecodedAtTheScaleOfTraining) {
  std::filesystem::remove(path_);
  path_ = testing::WriteFile(root_ + "/train/one", "0.jpg",
                             testing::EncodeJpeg(256, 320, testing::SmoothPixels(256, 320, 3)));
  ExpectAsTrained(**OpenFolder({.train = root_, .geometry = {.crop = 0.9, .resize = 16}}), path_);
}

// Data sets of fixed extents are resized after they have become values.
TEST_F(ImageInputTest, ValuesAreResizedWhereTrainingDidThat) {
  for (const Geometry& geometry :
       {Geometry{.crop = 0.6}, Geometry{.resize = 17}, Geometry{.crop = 0.875, .resize = 64}}) {
    std::shared_ptr<const Dataset> plain = *OpenFolder({.train = root_});
    const auto resized = *Transform(plain, geometry);
    ExpectAsTrained(*resized, path_);
    EXPECT_TRUE(resized->preprocessing().geometry->of_values);
  }
}

// The middle 224 x 224, or all, of 227 x 227 bytes in the order blue, green, red, less their means.
// These are of the middle of an image.
TEST_F(ImageInputTest, ImagenetsFilesAreShownAsInTraining) {
  const testing::Bytes jpeg = testing::EncodeJpeg(375, 500, testing::SmoothPixels(375, 500, 3));
  ImagenetShard shard = *ImagenetShard::Create(1);
  ASSERT_TRUE(shard.Add(jpeg, 1, "jpeg").ok());
  ASSERT_TRUE(shard.Write(root_ + "/train-0.npz", "a test").ok());
  const std::string image = testing::WriteFile(root_, "image.jpg", jpeg);
  for (const bool whole : {false, true}) {
    ExpectAsTrained(**OpenImagenetNpz({.train = root_, .whole = whole}), image);
    // Cropped and resized once more: the middle of what the files have.
    for (const Geometry& geometry :
         {Geometry{.crop = 0.6}, Geometry{.square = true, .crop = 0.5}, Geometry{.resize = 64},
          Geometry{.resize = 227}, Geometry{.crop = 0.6, .resize = 33},
          Geometry{.crop = 0.5, .resize = 112}, Geometry{.crop = 0.9, .resize = 300}}) {
      SCOPED_TRACE(StrCat(whole, " ", geometry.crop, " ", geometry.resize));
      ExpectAsTrained(**OpenImagenet({.train = root_, .geometry = geometry, .whole = whole}),
                      image);
    }
  }
}

TEST_F(ImageInputTest, OtherSizesAreResizedToTheNetworks) {
  const ImageInput input = ImageInput::Create({}, {8, 6, 3}, TensorFormat::kNHWC).value();
  const Tensor x = testing::ZeroTensor(DType::kFloat32, Shape{1, 8, 6, 3});
  const Image grey = {{20, 30, 3}, std::vector<uint8_t>(20 * 30 * 3, 51)};
  ASSERT_TRUE(input.Convert(grey, x, 0).ok());
  EXPECT_EQ(Values(x), std::vector<double>(8 * 6 * 3, double(51 * (1.0f / 255))));
}

// The same rule for images of callers as for files.
TEST_F(ImageInputTest, PixelsAndPngFilesOfAnyChannelsAreTheSameSamples) {
  constexpr int kColorTypes[] = {0, 4, 2, 6};  // by channels, as PNG numbers them
  for (const int64_t wanted : {1, 3}) {
    const ImageInput input = ImageInput::Create({}, {4, 5, wanted}, TensorFormat::kNHWC).value();
    const Tensor x = testing::ZeroTensor(DType::kFloat32, Shape{2, 4, 5, wanted});
    for (int channels = 1; channels <= 4; ++channels) {
      const std::vector<uint8_t> pixels = testing::SmoothPixels(4, 5, channels);
      const auto png = testing::EncodePng(4, 5, pixels, {.color_type = kColorTypes[channels - 1]});
      ASSERT_TRUE(input.Decode(png, "png", x, 0).ok());
      ASSERT_TRUE(input.Convert({{4, 5, channels}, pixels}, x, 1).ok());
      EXPECT_EQ(Values(x.Samples(0, 1, TensorFormat::kNHWC)),
                Values(x.Samples(1, 1, TensorFormat::kNHWC)))
          << channels << " channels for " << wanted;
    }
  }
}

TEST_F(ImageInputTest, GeometriesOutOfRangeAreRefused) {
  const auto create = [](const ImageGeometry& image, int64_t side = 8) {
    return ImageInput::Create({.geometry = image}, {side, side, 3}, TensorFormat::kNHWC).status();
  };
  const Geometry eight = {.resize = 8};
  EXPECT_TRUE(create({.geometry = eight, .side = 7, .then = eight}).ok());
  EXPECT_FALSE(create({.geometry = eight, .side = 9, .then = eight}).ok());
  EXPECT_FALSE(create({.geometry = eight, .side = -1, .then = eight}).ok());
  EXPECT_FALSE(create({.geometry = eight, .side = 7, .then = {.crop = 0}}).ok());
  EXPECT_FALSE(create({.geometry = {.resize = 65536}, .side = 7, .then = eight}).ok());
  // The input of a network for samples as large as that takes more memory.
  EXPECT_TRUE(create({.geometry = {.resize = 5000}}, 5000).ok());
  EXPECT_EQ(create({.geometry = {.resize = 5000}}).message(),
            "images are resized to 5000 x 5000 for a network of 8 x 8; at most 4096 x 4096");
}

TEST_F(ImageInputTest, WhatIsNoImageIsNamed) {
  const auto error = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_EQ(error(ImageInput::Create({}, {8, 8, 5}, TensorFormat::kNHWC).status()),
            "the network takes samples of 5 channels; images have 1 or 3");
  const ImageInput input = ImageInput::Create({}, {8, 8, 3}, TensorFormat::kNHWC).value();
  const Tensor x = testing::ZeroTensor(DType::kFloat32, Shape{1, 8, 8, 3});
  const std::string broken = testing::WriteFile(root_, "broken", testing::Bytes{1, 2, 3});
  EXPECT_TRUE(error(input.Read(broken, x, 0)).starts_with(broken + ": "));
  EXPECT_TRUE(error(input.Read(root_ + "/none", x, 0)).starts_with(root_ + "/none: "));
  EXPECT_EQ(error(input.Convert({{2, 2, 5}, std::vector<uint8_t>(20)}, x, 0)),
            "an image of 5 channels; expected 1 (grey), 3 (red, green, blue), or 2 or 4 (with "
            "alpha)");
}

}  // namespace
}  // namespace dtnn
