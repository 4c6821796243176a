#include "data/datasets/imagenet/imagenet_npz.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSide = 227, kPlane = kSide * kSide;

// Every pixel says where it is: channel, row, column and the class of its image.
uint8_t Pixel(int64_t label, int64_t channel, int64_t y, int64_t x) {
  return uint8_t(label * 50 + channel * 17 + y * 3 + x);
}

void WriteShard(const std::string& path, const std::vector<int32_t>& labels,
                NpzCompression compression = NpzCompression::kDeflated, int64_t side = kSide) {
  const int64_t n = int64_t(labels.size());
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{n, 3, side, side}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{n, 1}).value();
  uint8_t* to = x.data<uint8_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    y.data<int32_t>()[i] = labels[i];
    for (int64_t at = 0; at < 3 * side * side; ++at) {
      *to++ = Pixel(labels[i], at / (side * side), at / side % side, at % side);
    }
  }
  ASSERT_TRUE(WriteNpz(path, {{"x", x}, {"y", y}}, compression).ok());
}

// Files of different lengths, one of them empty.
std::string Root() {
  const std::string root = testing::NewFolder("imagenet_npz");
  WriteShard(root + "/train-00000-of-00004.npz", {1, 2});
  WriteShard(root + "/train-00001-of-00004.npz", {3}, NpzCompression::kStored);
  WriteShard(root + "/train-00002-of-00004.npz", {});
  WriteShard(root + "/train-00003-of-00004.npz", {4, 5, 1000});
  WriteShard(root + "/validation-00000-of-00001.npz", {7});
  return root;
}

std::string Error(const ImagenetNpzOptions& options) {
  const absl::Status status = OpenImagenetNpz(options).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

struct Batch4 {
  absl::Status status;
  Tensor x, targets;
};

Batch4 ReadAt(const Dataset& dataset, std::vector<int64_t> indices, TensorFormat format,
              DType dtype = DType::kFloat32) {
  const int64_t n = int64_t(indices.size());
  Batch4 batch = {absl::OkStatus(),
                  Tensor::Zeros(dtype, SampleShape(dataset.sample(), format).Prepend(n)).value(),
                  Tensor::Zeros(DType::kInt32, Shape{n}).value()};
  batch.status = dataset.Read(Split::kTrain, indices, format, batch.x, batch.targets);
  return batch;
}

template <typename T>
void ExpectImages(const Dataset& dataset, TensorFormat format, int64_t side, int64_t first) {
  const std::vector<int64_t> indices = {5, 0, 2, 0};
  const std::vector<int32_t> labels = {1000, 1, 3, 1};
  const Batch4 batch = ReadAt(dataset, indices, format, DTypeOf<T>());
  ASSERT_TRUE(batch.status.ok()) << batch.status;
  const std::array<T, 3> means = {T(103.939), T(116.779), T(123.68)};
  const T* x = batch.x.data<T>();
  for (size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(batch.targets.data<int32_t>()[i], labels[i] - 1);
    for (int64_t at = 0; at < 3 * side * side; ++at) {
      const bool nhwc = format == TensorFormat::kNHWC;
      const int64_t channel = nhwc ? at % 3 : at / (side * side);
      const int64_t pixel = nhwc ? at / 3 : at % (side * side);
      const T expected =
          T(Pixel(labels[i], 2 - channel, first + pixel / side, first + pixel % side)) -
          means[size_t(channel)];
      ASSERT_EQ(*x++, expected) << "sample " << i << ", element " << at;
    }
  }
}

TEST(ImagenetNpzTest, DescribesItself) {
  const std::string root = Root();
  const auto imagenet = OpenImagenetNpz({.train = root, .test = root}).value();
  EXPECT_EQ(imagenet->name(), "imagenet");
  EXPECT_EQ(imagenet->size(Split::kTrain), 6);
  EXPECT_EQ(imagenet->size(Split::kTest), 1);
  EXPECT_EQ(imagenet->outputs(), 1000);
  EXPECT_EQ(imagenet->sample(), (ImageExtents{224, 224, 3}));
  EXPECT_EQ(imagenet->groups(Split::kTrain).begins, (std::vector<int64_t>{0, 2, 3, 3}));
  EXPECT_TRUE(
      OpenImagenetNpz({.train = "", .test = root}).value()->groups(Split::kTrain).begins.empty());
}

TEST(ImagenetNpzTest, ImagesAreCroppedReversedAndCentred) {
  const std::string root = Root();
  const auto imagenet = OpenImagenetNpz({.train = root}).value();
  const auto whole = OpenImagenetNpz({.train = root, .whole = true}).value();
  EXPECT_EQ(whole->sample(), (ImageExtents{227, 227, 3}));
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    ExpectImages<float>(*imagenet, format, 224, 1);
    ExpectImages<double>(*imagenet, format, 224, 1);
    ExpectImages<float>(*whole, format, 227, 0);
    ExpectImages<double>(*whole, format, 227, 0);
  }
}

TEST(ImagenetNpzTest, PartsMayHaveFoldersOfTheirOwn) {
  const std::string root = testing::NewFolder("imagenet_npz_folders");
  std::filesystem::create_directories(root + "/train");
  std::filesystem::create_directories(root + "/val");
  WriteShard(root + "/train/b.npz", {2});
  WriteShard(root + "/train/a.npz", {1});
  WriteShard(root + "/val/c.npz", {3});
  const auto both = OpenImagenetNpz({.train = root, .test = root}).value();
  EXPECT_EQ(both->size(Split::kTest), 1);
  EXPECT_EQ(ReadAt(*both, {0}, TensorFormat::kNHWC).targets.data<int32_t>()[0], 0) << "sorted";
  const auto direct = OpenImagenetNpz({.train = root + "/train", .test = root + "/val"}).value();
  EXPECT_EQ(direct->size(Split::kTrain), 2);
  EXPECT_EQ(direct->size(Split::kTest), 1);
}

// Three files fit the budget, one of which is the next: the epoch reads two at a time.
TEST(ImagenetNpzTest, LoaderVisitsEverySampleOnceInsideTheBudget) {
  const std::string root = Root();
  const std::shared_ptr<Dataset> imagenet =
      OpenImagenetNpz({.train = root, .cache_bytes = 3 * 3 * 3 * kPlane}).value();
  EXPECT_EQ(imagenet->groups(Split::kTrain).at_once, 2);
  const auto loader =
      Loader::Create(imagenet, Split::kTrain, AllIndices(6), {.batch = 2, .seed = 3}).value();
  loader->StartEpoch(1);
  std::vector<int32_t> labels;
  while (const Batch* batch = loader->Next().value()) {
    for (int64_t i = 0; i < batch->count; ++i) {
      labels.push_back(batch->targets.data<int32_t>()[i]);
    }
  }
  EXPECT_THAT(labels, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 999));
}

TEST(ImagenetNpzTest, WrongFilesAreNamed) {
  const std::string root = Root();
  WriteShard(root + "/train-00001-of-00004.npz", {1, 1001});
  EXPECT_EQ(Error({.train = root}),
            root + "/train-00001-of-00004.npz: the class of sample 1 is 1001; expected 1 to 1000");
  WriteShard(root + "/train-00001-of-00004.npz", {1}, NpzCompression::kStored, 32);
  const auto imagenet = OpenImagenetNpz({.train = root}).value();
  EXPECT_THAT(std::string(ReadAt(*imagenet, {2}, TensorFormat::kNHWC).status.message()),
              HasSubstr("train-00001-of-00004.npz: x is uint8 (1, 3, 32, 32); expected uint8 "
                        "(1, 3, 227, 227), as many images as labels"));
  testing::WriteFile(root, "train-00001-of-00004.npz", testing::Bytes{'P', 'K', 3, 4, 1});
  EXPECT_THAT(Error({.train = root}), HasSubstr(root + "/train-00001-of-00004.npz: "));
  EXPECT_THAT(Error({.train = root + "/none"}),
              HasSubstr("; the program convert_imagenet makes them from"));
  EXPECT_THAT(Error({}), HasSubstr("no path was given"));
}

// Else a network would be tested on what it was trained on.
TEST(ImagenetNpzTest, FilesThatWouldBeOfBothPartsAreRefused) {
  const std::string root = testing::NewFolder("imagenet_npz");
  WriteShard(root + "/a.npz", {1, 2});
  WriteShard(root + "/b.npz", {3});
  const std::string both =
      root + "/a.npz: would be both training data and test data: name the files in ";
  EXPECT_THAT(Error({.train = root, .test = root}), HasSubstr(both + root + " train-*.npz"));
  EXPECT_THAT(Error({.test = root, .one_place = true}), HasSubstr(both)) << "what evaluates later";
  const std::string link = testing::NewFolder("imagenet_npz_link") + "/link";
  std::filesystem::create_directory_symlink(root, link);
  EXPECT_THAT(Error({.train = root, .test = link}),
              HasSubstr("would be both training data and test"));
  EXPECT_EQ(OpenImagenetNpz({.train = root, .one_place = true}).value()->size(Split::kTrain), 3);
  EXPECT_EQ(OpenImagenetNpz({.test = root}).value()->size(Split::kTest), 3);
  WriteShard(root + "/test-1.npz", {4});
  const auto imagenet = OpenImagenetNpz({.train = root, .test = root, .one_place = true}).value();
  EXPECT_EQ(imagenet->size(Split::kTrain), 3);
  EXPECT_EQ(imagenet->size(Split::kTest), 1);
}

}  // namespace
}  // namespace dtnn
