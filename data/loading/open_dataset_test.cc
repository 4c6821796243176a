#include "data/loading/open_dataset.h"

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace dtnn
