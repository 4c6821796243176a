#include "data/datasets/chestxray.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::SmoothPixels;
using testing::WriteFile;
using Bytes = std::vector<uint8_t>;

constexpr int kSide = 8;

Bytes Picture(int seed) {
  return testing::EncodePng(kSide, kSide, SmoothPixels(kSide, kSide, 1, seed), {.color_type = 0});
}

void WriteText(const std::string& folder, const std::string& name, std::string_view text) {
  WriteFile(folder, name, Bytes(text.begin(), text.end()));
}

constexpr char kTable[] =
    "Image Index,Finding Labels,Follow-up #,Patient ID,\"OriginalImage[Width,Height]\",\r\n"
    "1.png,No Finding,0,1,\"8,8\",\r\n"
    "2.png,Cardiomegaly|Hernia,0,2,\"8,8\",\r\n"
    "3.png,Atelectasis|Pneumothorax|Pleural_Thickening,1,2,\"8,8\",\r\n"
    "4.png,Mass,1,2,\"8,8\",\r\n";

// Image 3 has four channels, as a few of the real ones.
std::string Root(bool with_images = true) {
  const std::string root = testing::NewFolder("chestxray");
  WriteText(root, "Data_Entry_2017.csv", kTable);
  WriteText(root, "train_val_list.txt", "1.png\n3.png\n2.png");
  WriteText(root, "test_list.txt", "4.png\r\n");
  if (!with_images) return root;
  std::filesystem::create_directories(root + "/images");
  for (const int i : {1, 2, 4}) {
    WriteFile(root + "/images", std::to_string(i) + ".png", Picture(i));
  }
  Bytes rgba;
  for (const uint8_t value : SmoothPixels(kSide, kSide, 1, 3)) {
    rgba.insert(rgba.end(), {value, value, value, 255});
  }
  WriteFile(root + "/images", "3.png", testing::EncodePng(kSide, kSide, rgba, {.color_type = 6}));
  return root;
}

std::string Error(const ChestXrayOptions& options) {
  const absl::Status status = OpenChestXray(options).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

void ExpectSamples(const Dataset& dataset) {
  const Tensor x = Tensor::Zeros(DType::kFloat64, Shape{3, kSide, kSide, 1}).value();
  const Tensor targets = Tensor::Zeros(DType::kFloat64, Shape{3, 15}).value();
  const absl::Status status =
      dataset.Read(Split::kTrain, std::vector<int64_t>{0, 1, 2}, TensorFormat::kNHWC, x, targets);
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<std::vector<int>> findings = {{10}, {0, 12, 14}, {1, 7}};
  const std::vector<int> seeds = {1, 3, 2};
  for (size_t i = 0; i < 3; ++i) {
    const Bytes pixels = SmoothPixels(kSide, kSide, 1, seeds[i]);
    for (size_t at = 0; at < pixels.size(); ++at) {
      EXPECT_EQ(x.data<double>()[i * pixels.size() + at], pixels[at] * (1.0 / 255));
    }
    for (int output = 0; output < 15; ++output) {
      const bool found =
          std::find(findings[i].begin(), findings[i].end(), output) != findings[i].end();
      EXPECT_EQ(targets.data<double>()[i * 15 + size_t(output)], found ? 1 : 0);
    }
  }
}

TEST(ChestXrayTest, DescribesItself) {
  const std::string root = Root();
  const auto dataset = OpenChestXray({.train = root, .test = root}).value();
  EXPECT_EQ(dataset->name(), "chestxray");
  EXPECT_EQ(dataset->size(Split::kTrain), 3);
  EXPECT_EQ(dataset->size(Split::kTest), 1);
  EXPECT_EQ(dataset->sample(), (ImageExtents{kSide, kSide, 1}));
  EXPECT_EQ(dataset->outputs(), 15);
  EXPECT_EQ(dataset->target_kind(), TargetKind::kValues);
  EXPECT_EQ(dataset->class_names()[10], "No Finding");
  const std::vector<std::string> names = dataset->class_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(OpenChestXray({.train = root, .geometry = {.resize = 4}}).value()->sample(),
            (ImageExtents{4, 4, 1}));
}

TEST(ChestXrayTest, SamplesAndFindings) {
  const std::string root = Root();
  ExpectSamples(*OpenChestXray({.train = root}).value());
  std::filesystem::rename(root + "/Data_Entry_2017.csv", root + "/Data_Entry_2017_v2020.csv");
  ExpectSamples(*OpenChestXray({.train = root}).value());
}

TEST(ChestXrayTest, ImagesMayLieInSeveralFolders) {
  const std::string root = Root();
  std::filesystem::create_directories(root + "/images_001/images");
  std::filesystem::create_directories(root + "/images_002");
  std::filesystem::rename(root + "/images/1.png", root + "/images_001/images/1.png");
  std::filesystem::rename(root + "/images/2.png", root + "/images_002/2.png");
  std::filesystem::rename(root + "/images/3.png", root + "/3.png");
  ExpectSamples(*OpenChestXray({.train = root}).value());
}

TEST(ChestXrayTest, PlainArchivesAreReadInPlace) {
  const std::string root = Root(false);
  WriteFile(root, "images_01.tar",
            testing::TarBytes({{"images/", {}, '5'}, {"images/1.png", Picture(1)}}));
  WriteFile(root, "images_02.tar",
            testing::TarBytes({{"images/2.png", Picture(2)}, {"images/3.png", Picture(3)}}));
  ExpectSamples(*OpenChestXray({.train = root}).value());
}

TEST(ChestXrayTest, DamagedImagesAreLeftOutWithTheirFindings) {
  const std::string root = Root();
  WriteText(root, "train_val_list.txt", "4.png\n1.png\n3.png\n2.png");
  Bytes cut = Picture(4);
  cut.resize(cut.size() / 2);
  WriteFile(root + "/images", "4.png", cut);
  EXPECT_FALSE(OpenChestXray({.train = root}).ok());
  const auto dataset = OpenChestXray({.train = root, .skip_damaged = true}).value();
  EXPECT_EQ(dataset->size(Split::kTrain), 3);
  ExpectSamples(*dataset);
  EXPECT_EQ(dataset->warnings().size(), 1u);
}

TEST(ChestXrayTest, PackedArchivesAreToBeUnpacked) {
  const std::string root = Root(false);
  WriteFile(root, "images_01.tar.gz",
            testing::Gzip(testing::TarBytes({{"images/1.png", Picture(1)}})));
  EXPECT_EQ(Error({.train = root}),
            root + "/train_val_list.txt: 3 of its images are missing, the first is 1.png; " + root +
                "/images_01.tar.gz cannot be read directly: unpack all archives of the folder "
                "(`tar -xzf`), or decompress them to .tar (`gunzip`), which can be read directly");
}

TEST(ChestXrayTest, WhatIsMissingIsSaid) {
  const std::string root = Root();
  std::filesystem::remove(root + "/images/2.png");
  EXPECT_THAT(Error({.train = root}),
              HasSubstr("train_val_list.txt: 1 of its images are missing, the first is 2.png. "));
  WriteText(root, "test_list.txt", "5.png\n");
  EXPECT_EQ(Error({.test = root}),
            root + "/test_list.txt, line 1: image 5.png is missing from the table of findings");
  std::filesystem::remove(root + "/test_list.txt");
  EXPECT_THAT(Error({.test = root}), HasSubstr("test_list.txt: cannot be opened"));
  std::filesystem::remove(root + "/Data_Entry_2017.csv");
  EXPECT_THAT(Error({.train = root}), HasSubstr("contains neither Data_Entry_2017.csv nor"));
  EXPECT_THAT(Error({}), HasSubstr("no path was given"));
  WriteText(root, "Data_Entry_2017.csv", kTable);
  WriteText(root, "test_list.txt", "\n");
  EXPECT_EQ(Error({.test = root}), root + "/test_list.txt: lists no images");
}

TEST(ChestXrayTest, BrokenTablesAreNamedByLine) {
  const std::string root = Root();
  const std::string path = root + "/Data_Entry_2017.csv";
  WriteText(root, "Data_Entry_2017.csv", "Image Index,Labels\n");
  EXPECT_EQ(Error({.train = root}),
            path + ": has no column \"Finding Labels\"; its columns are Image Index, Labels");
  const std::string header = "Image Index,Finding Labels\n";
  WriteText(root, "Data_Entry_2017.csv", header + "1.png,Mass\n2.png,Mass|Flu\n");
  EXPECT_THAT(Error({.train = root}),
              HasSubstr(path + ", line 3: unknown finding \"Flu\"; expected "));
  WriteText(root, "Data_Entry_2017.csv", header + "1.png,Mass\n1.png,Mass\n");
  EXPECT_EQ(Error({.train = root}), path + ", line 3: image 1.png is listed twice");
  WriteText(root, "Data_Entry_2017.csv", header + "1.png\n");
  EXPECT_EQ(Error({.train = root}),
            path + ", line 2: has 1 fields, fewer than the header's columns");
  WriteText(root, "Data_Entry_2017.csv", "");
  EXPECT_FALSE(Error({.train = root}).empty());
}

}  // namespace
}  // namespace dtnn
