#include "data/datasets/imagenet/imagenet_shard.h"

#include <string>
#include <vector>

#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// The middle of each image is one colour; what lies outside the square that is kept is another.
std::vector<uint8_t> Picture(int height, int width, uint8_t red) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool inside =
          y >= height / 2 - 32 && y < height / 2 + 32 && x >= width / 2 - 32 && x < width / 2 + 32;
      rgb.insert(rgb.end(), {inside ? red : uint8_t(0), 20, 200});
    }
  }
  return testing::EncodePng(height, width, rgb);
}

TEST(ImagenetShardTest, WritesWhatTheReaderReads) {
  const std::string folder = testing::NewFolder("imagenet_shard");
  const std::string path = folder + "/train-0.npz";
  ImagenetShard shard = ImagenetShard::Create(1).value();
  const std::vector<int> reds = {60, 90, 120};
  ASSERT_TRUE(shard.Add(Picture(64, 200, 60), 1, "a").ok());
  ASSERT_TRUE(shard.Add(Picture(150, 64, 90), 1000, "b").ok());
  ASSERT_TRUE(shard.Add(Picture(72, 72, 120), 7, "c").ok());  // 64 pixels of it are kept
  ASSERT_TRUE(shard.Write(path, "three pictures").ok());
  EXPECT_EQ(ImagenetShardSource(path).value(), "three pictures");

  const auto imagenet = OpenImagenetNpz({.train = folder, .whole = true}).value();
  ASSERT_EQ(imagenet->size(Split::kTrain), 3);
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{3, 227, 227, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{3}).value();
  ASSERT_TRUE(
      imagenet->Read(Split::kTrain, std::vector<int64_t>{0, 1, 2}, TensorFormat::kNHWC, x, targets)
          .ok());
  const std::vector<int32_t> labels = {0, 999, 6};
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(targets.data<int32_t>()[i], labels[size_t(i)]);
    for (int64_t pixel = 0; pixel < 227 * 227; ++pixel) {
      const float* bgr = x.data<float>() + (i * 227 * 227 + pixel) * 3;
      ASSERT_NEAR(bgr[0], 200 - 103.939f, 1e-4);
      ASSERT_NEAR(bgr[1], 20 - 116.779f, 1e-4);
      ASSERT_NEAR(bgr[2], float(reds[size_t(i)]) - 123.68f, 1.01f) << i << " " << pixel;
    }
  }
}

TEST(ImagenetShardTest, WrongImagesAndLabelsAreNamed) {
  ImagenetShard shard = ImagenetShard::Create().value();
  EXPECT_EQ(shard.Add(Picture(64, 64, 1), 0, "x").message(),
            "x: its class is 0, expected 1 to 1000");
  EXPECT_THAT(std::string(shard.Add(std::vector<uint8_t>{1, 2}, 1, "x").message()),
              HasSubstr("x: is neither a JPEG nor a PNG"));
  EXPECT_EQ(shard.size(), 0);
}

TEST(ImagenetShardTest, GrowsToTheMostImagesOfAFile) {
  EXPECT_EQ(ImagenetShard::RoomBeyond(1251).value(), 2502);
  EXPECT_EQ(ImagenetShard::RoomBeyond(80064).value(), 100000);
  EXPECT_EQ(ImagenetShard::RoomBeyond(100000).status().message(),
            "a file of more than 100000 images is not supported");
}

TEST(ImagenetShardTest, OtherFilesAreNotTakenForOne) {
  const std::string folder = testing::NewFolder("imagenet_shard");
  const std::string path = folder + "/a.npz";
  ASSERT_TRUE(WriteNpz(path, {{"y", Tensor::Zeros(DType::kInt32, Shape{1, 1}).value()}}).ok());
  EXPECT_FALSE(ImagenetShardSource(path).ok());
  EXPECT_FALSE(ImagenetShardSource(testing::WriteFile(folder, "b.npz", testing::Bytes{1})).ok());
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{1, 3, 227, 227}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{1, 1}).value();
  ASSERT_TRUE(WriteNpz(path, {{"x", x}, {"y", y}}).ok());
  EXPECT_EQ(ImagenetShardSource(path).value(), "") << "of a program that writes none";
  const std::string large(30000, 'a');  // four bytes each
  ASSERT_TRUE(
      WriteNpz(path, {{"x", x}, {"y", y}}, NpzCompression::kStored, {{"__source__", large}}).ok());
  EXPECT_FALSE(ImagenetShardSource(path).ok());
}

}  // namespace
}  // namespace dtnn
