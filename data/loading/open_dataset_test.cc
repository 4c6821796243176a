#include "data/loading/open_dataset.h"

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// A folder with three training and two test images of 4 x 2 pixels.
std::string MnistFolder() {
  const std::string folder = testing::NewFolder("open_dataset_mnist");
  const std::vector<uint8_t> labels = {1, 0, 2};
  const auto write = [&](const char* images, const char* classes, uint32_t count) {
    testing::WriteFile(folder, images,
                       testing::IdxBytes({count, 4, 2}, testing::Elements(count * 8)));
    testing::WriteFile(folder, classes, testing::IdxBytes({count}, std::span(labels).first(count)));
  };
  write("train-images-idx3-ubyte", "train-labels-idx1-ubyte", 3);
  write("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 2);
  return folder;
}

TEST(OpenDatasetTest, AnUnknownNameIsAnsweredWithTheNames) {
  const absl::Status status = OpenDataset("mnits", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("mnist, cifar10, imagenet"));
  EXPECT_FALSE(KnownSize("mnits").has_value());
}

TEST(OpenDatasetTest, ReadsTheSplitsThatAreAskedFor) {
  const std::string folder = MnistFolder();
  const auto both = *OpenDataset("mnist", {.path = folder});
  EXPECT_EQ(both->size(Split::kTrain), 3);
  EXPECT_EQ(both->size(Split::kTest), 2);
  EXPECT_EQ(both->name(), "mnist");
  const auto test = *OpenDataset("mnist", {.test_path = folder, .train = false});
  EXPECT_EQ(test->size(Split::kTrain), 0);
  EXPECT_EQ(test->size(Split::kTest), 2);
  // One place given: the other split is nowhere, not where some default is.
  EXPECT_EQ((*OpenDataset("mnist", {.train_path = folder}))->size(Split::kTest), 0);
  EXPECT_EQ(OpenDataset("mnist", {.path = folder, .train_path = folder + "/none"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(OpenDatasetTest, EverySampleGoesThroughTheGeometry) {
  const auto resized = *OpenDataset("mnist", {.path = MnistFolder(), .geometry = {.resize = 3}});
  EXPECT_EQ(resized->sample(), (ImageExtents{3, 3, 1}));
  EXPECT_EQ(KnownSize("mnist", {.geometry = {.resize = 3}})->sample, (ImageExtents{3, 3, 1}));
}

TEST(OpenDatasetTest, SizesAreKnownWithoutFiles) {
  EXPECT_EQ(KnownSize("cifar10")->train, 50000);
  EXPECT_EQ(KnownSize("imagenet")->sample.height, 224);
  EXPECT_EQ(KnownSize("imagenet", {.imagenet_whole = true})->sample.height, 227);
  EXPECT_FALSE(KnownSize("folder").has_value());
  const auto resized = KnownSize("folder", {.geometry = {.crop = 0.5, .resize = 224}});
  ASSERT_TRUE(resized.has_value());
  EXPECT_EQ(resized->sample, (ImageExtents{224, 224, 3}));
  EXPECT_EQ(resized->outputs, 0);
  // The channels of its images are not known.
  EXPECT_FALSE(KnownSize("archive", {.geometry = {.resize = 224}}).has_value());
  const OpenDatasetOptions options = {.synthetic = {.train_samples = 7, .classes = 3}};
  EXPECT_EQ(KnownSize("synthetic", options)->train, 7);
  const auto synthetic = *OpenDataset("synthetic", options);
  EXPECT_EQ(synthetic->size(Split::kTrain), 7);
  EXPECT_EQ(synthetic->outputs(), 3);
}

TEST(OpenDatasetTest, EveryNameIsThatOfItsDataSet) {
  const std::string nowhere = testing::NewFolder("open_dataset") + "/none";
  std::vector<std::string_view> known;
  for (const auto& [name, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"mnist", "train-images-idx3-ubyte"},
           {"cifar10", "cifar-10-binary.tar.gz"},
           {"imagenet", "convert_imagenet"},
           {"chestxray", "Data_Entry_2017.csv"},
           {"archive", "none: "},
           {"folder", "<path>/train/<class>/<image>"},
           {"masks", "<path>/train/masks/<image>.png"},
           {"cyclone", "40 x 40 bytes"},
           {"tsunamis", "80 x 80 bytes"}}) {
    known.push_back(name);
    const absl::Status status = OpenDataset(name, {.path = nowhere}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << name;
  }
  known.push_back("synthetic");
  EXPECT_EQ(DatasetNames(), known);
}

TEST(OpenDatasetTest, KnownSizesAreThoseThatDataSetsArePublishedWith) {
  struct Known {
    const char* name;
    int64_t train, test;
    ImageExtents sample;
    int64_t outputs;
  };
  for (const Known& known : {Known{"mnist", 60000, 10000, {28, 28, 1}, 10},
                             Known{"cifar10", 50000, 10000, {32, 32, 3}, 10},
                             Known{"imagenet", 1281167, 50000, {224, 224, 3}, 1000},
                             Known{"chestxray", 86524, 25596, {1024, 1024, 1}, 15},
                             Known{"cyclone", 50000, 10000, {40, 40, 5}, 2},
                             Known{"tsunamis", 50000, 10000, {80, 80, 1}, 1}}) {
    const std::optional<DatasetSize> size = KnownSize(known.name);
    ASSERT_TRUE(size.has_value()) << known.name;
    EXPECT_EQ(size->train, known.train) << known.name;
    EXPECT_EQ(size->test, known.test) << known.name;
    EXPECT_EQ(size->sample, known.sample) << known.name;
    EXPECT_EQ(size->outputs, known.outputs) << known.name;
  }
  EXPECT_EQ(KnownSize("imagenet", {.imagenet_whole = true})->sample, (ImageExtents{227, 227, 3}));
  const auto synthetic = KnownSize(
      "synthetic",
      {.synthetic = {.train_samples = 7, .test_samples = 5, .sample = {4, 3, 2}, .classes = 6}});
  EXPECT_EQ(synthetic->test, 5);
  EXPECT_EQ(synthetic->sample, (ImageExtents{4, 3, 2}));
  EXPECT_EQ(synthetic->outputs, 6);
}

std::vector<uint8_t> Picture() { return testing::EncodePng(4, 6, testing::SmoothPixels(4, 6, 3)); }

void Put(const std::string& folder, const char* name, std::span<const uint8_t> bytes) {
  std::filesystem::create_directories(folder);
  testing::WriteFile(folder, name, bytes);
}

TEST(OpenDatasetTest, OptionsReachFoldersOfImages) {
  const std::string root = testing::NewFolder("open_dataset_folder");
  Put(root + "/train/a", "1.png", Picture());
  Put(root + "/train/a", "2.png", Picture());
  Put(root + "/test/a", "3.png", Picture());
  const auto both = *OpenDataset("folder", {.path = root, .geometry = {.resize = 2}});
  EXPECT_EQ(both->sample(), (ImageExtents{2, 2, 3}));
  EXPECT_EQ(both->size(Split::kTrain), 2);
  EXPECT_EQ(both->size(Split::kTest), 1);
  const std::vector<uint8_t> whole = Picture();
  Put(root + "/train/a", "2.png", std::span(whole).first(whole.size() / 2));
  const OpenDatasetOptions options = {
      .path = root, .geometry = {.resize = 2}, .skip_damaged_images = true};
  EXPECT_EQ((*OpenDataset("folder", options))->size(Split::kTrain), 1);
}

TEST(OpenDatasetTest, OptionsReachXRays) {
  const std::string root = testing::NewFolder("open_dataset_chestxray");
  const auto put = [&](const char* name, std::string_view text) {
    Put(root, name, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  put("Data_Entry_2017.csv", "Image Index,Finding Labels\n1.png,Mass\n2.png,Hernia\n3.png,Mass\n");
  put("train_val_list.txt", "1.png\n2.png\n");
  put("test_list.txt", "3.png\n");
  for (const char* name : {"1.png", "2.png", "3.png"}) Put(root + "/images", name, Picture());
  const auto both = *OpenDataset("chestxray", {.path = root, .geometry = {.resize = 2}});
  EXPECT_EQ(both->sample(), (ImageExtents{2, 2, 1}));
  EXPECT_EQ(both->size(Split::kTrain), 2);
  EXPECT_EQ(both->size(Split::kTest), 1);
  const std::vector<uint8_t> whole = Picture();
  Put(root + "/images", "2.png", std::span(whole).first(whole.size() / 2));
  const OpenDatasetOptions options = {
      .path = root, .geometry = {.resize = 2}, .skip_damaged_images = true};
  EXPECT_EQ((*OpenDataset("chestxray", options))->size(Split::kTrain), 1);
}

TEST(OpenDatasetTest, OptionsReachFilesOfArrays) {
  const std::string path = testing::NewFolder("open_dataset_archive") + "/data.npz";
  const auto zeros = [](const Shape& shape) { return *Tensor::Zeros(DType::kFloat32, shape); };
  ASSERT_EQ(WriteNpz(path, {{"x_train", zeros({3, 3, 5, 3})},
                            {"y_train", zeros({3, 2})},
                            {"x_test", zeros({1, 3, 5, 3})},
                            {"y_test", zeros({1, 2})}}),
            absl::OkStatus());
  const auto first = *OpenDataset("archive", {.path = path, .archive_format = TensorFormat::kNCHW});
  EXPECT_EQ(first->sample(), (ImageExtents{5, 3, 3}));
  EXPECT_EQ(first->size(Split::kTrain), 3);
  EXPECT_EQ(first->size(Split::kTest), 1);
  const auto last = *OpenDataset(
      "archive", {.path = path, .geometry = {.resize = 2}, .archive_format = TensorFormat::kNHWC});
  EXPECT_EQ(last->sample(), (ImageExtents{2, 2, 3}));
}

TEST(OpenDatasetTest, OptionsReachImagenetsFiles) {
  const std::string root = testing::NewFolder("open_dataset_imagenet");
  const auto write = [&](const char* name, int64_t samples) {
    const Tensor x = *Tensor::Zeros(DType::kUint8, Shape{samples, 3, 227, 227});
    const Tensor y = *Tensor::Zeros(DType::kInt32, Shape{samples, 1});
    for (int64_t i = 0; i < samples; ++i) y.data<int32_t>()[i] = 1;
    ASSERT_EQ(WriteNpz(root + "/" + name, {{"x", x}, {"y", y}}), absl::OkStatus());
  };
  write("a.npz", 2);
  // The test split alone, from where the training data are as well.
  EXPECT_THAT(
      std::string(OpenDataset("imagenet", {.path = root, .train = false}).status().message()),
      HasSubstr("would be both training data and test data"));
  const auto test = *OpenDataset("imagenet", {.test_path = root, .train = false});
  EXPECT_EQ(test->size(Split::kTest), 2);
  EXPECT_EQ(test->size(Split::kTrain), 0);
  const auto whole =
      *OpenDataset("imagenet", {.train_path = root, .test = false, .imagenet_whole = true});
  EXPECT_EQ(whole->sample(), (ImageExtents{227, 227, 3}));
  EXPECT_EQ(whole->size(Split::kTrain), 2);
  const auto small =
      *OpenDataset("imagenet", {.train_path = root, .test = false, .geometry = {.resize = 16}});
  EXPECT_EQ(small->sample(), (ImageExtents{16, 16, 3}));
  const OpenDatasetOptions skips = {.train_path = root, .test = false, .skip_damaged_images = true};
  EXPECT_EQ(OpenDataset("imagenet", skips).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
