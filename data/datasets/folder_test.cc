#include "data/datasets/folder.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "data/files/read_bytes.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

using testing::EncodePng;
using ::testing::HasSubstr;
using testing::SmoothPixels;
using testing::WriteFile;
using Bytes = std::vector<uint8_t>;

constexpr int kHeight = 4, kWidth = 6;

void Put(const std::string& path, const Bytes& bytes) {
  const std::filesystem::path at = path;
  std::filesystem::create_directories(at.parent_path());
  WriteFile(at.parent_path().string(), at.filename().string(), bytes);
}

Bytes Picture(int seed, int height = kHeight, int width = kWidth) {
  return EncodePng(height, width, SmoothPixels(height, width, 3, seed));
}

// Three classes, two images of them below a further folder, one with the wrong ending.
std::string Root() {
  const std::string root = testing::NewFolder("folder");
  Put(root + "/train/cat/1.png", Picture(1));
  Put(root + "/train/cat/more/2.jpg", Picture(2));
  Put(root + "/train/Bird/x", Picture(3));
  Put(root + "/train/dog/a.png", Picture(4));
  Put(root + "/train/dog/.hidden", {1, 2, 3});
  Put(root + "/train/.cache/b.png", {1});
  Put(root + "/train/notes.txt", {1});
  Put(root + "/test/dog/t.png", Picture(5));
  return root;
}

struct Sample {
  absl::Status status;
  Tensor x, targets;
};

Sample ReadOne(const Dataset& dataset, Split split, std::vector<int64_t> indices,
               TensorFormat format = TensorFormat::kNHWC, DType dtype = DType::kFloat32) {
  const int64_t n = int64_t(indices.size());
  Sample sample = {absl::OkStatus(),
                   Tensor::Zeros(dtype, SampleShape(dataset.sample(), format).Prepend(n)).value(),
                   Tensor::Zeros(DType::kInt32, Shape{n}).value()};
  sample.status = dataset.Read(split, indices, format, sample.x, sample.targets);
  return sample;
}

std::string Error(const FolderOptions& options) {
  const absl::Status status = OpenFolder(options).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

TEST(FolderTest, ClassesAreTheSortedNamesOfFolders) {
  const std::string root = Root();
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_EQ(folder->name(), "folder");
  EXPECT_EQ(folder->class_names(), (std::vector<std::string>{"Bird", "cat", "dog"}));
  EXPECT_EQ(folder->outputs(), 3);
  EXPECT_EQ(folder->size(Split::kTrain), 4);
  EXPECT_EQ(folder->size(Split::kTest), 1);
  EXPECT_EQ(folder->sample(), (ImageExtents{kHeight, kWidth, 3}));
}

TEST(FolderTest, ReadGivesPixelsAndLabelsInBothFormatsAndTypes) {
  const std::string root = Root();
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  const std::vector<int64_t> indices = {3, 0, 2, 2};
  const std::vector<int> seeds = {4, 3, 2, 2}, labels = {2, 0, 1, 1};
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Sample got = ReadOne(*folder, Split::kTrain, indices, format, DType::kFloat64);
    ASSERT_TRUE(got.status.ok()) << got.status;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got.targets.data<int32_t>()[i], labels[i]);
      const Bytes pixels = SmoothPixels(kHeight, kWidth, 3, seeds[i]);
      const double* x = got.x.data<double>() + i * pixels.size();
      for (size_t pixel = 0; pixel < kHeight * kWidth; ++pixel) {
        for (size_t c = 0; c < 3; ++c) {
          const size_t at =
              format == TensorFormat::kNHWC ? 3 * pixel + c : c * kHeight * kWidth + pixel;
          ASSERT_EQ(x[at], pixels[3 * pixel + c] * (1.0 / 255));
        }
      }
    }
  }
  EXPECT_EQ(ReadOne(*folder, Split::kTest, {0}).targets.data<int32_t>()[0], 2);
}

TEST(FolderTest, CentralCropKeepsTheMiddle) {
  const std::string root = Root();
  const auto folder = OpenFolder({.train = root, .test = "", .geometry = {.crop = 0.5}}).value();
  EXPECT_EQ(folder->sample(), (ImageExtents{2, 2, 3}));
  const Sample got = ReadOne(*folder, Split::kTrain, {1});
  const Bytes pixels = SmoothPixels(kHeight, kWidth, 3, 1);
  for (size_t y = 0; y < 2; ++y) {
    for (size_t x = 0; x < 2; ++x) {
      EXPECT_EQ(got.x.data<float>()[(y * 2 + x) * 3],
                float(pixels[((y + 1) * kWidth + x + 2) * 3]) * (1.0f / 255));
    }
  }
}

// Images of one colour stay so, whatever their extents; JPEG files far larger than needed are
// decoded in parts of their extents only.
TEST(FolderTest, ImagesOfDifferentExtentsAreResized) {
  const std::string root = testing::NewFolder("folder");
  Put(root + "/train/a/1.png", EncodePng(9, 5, Bytes(9 * 5 * 3, 200)));
  Put(root + "/train/a/2.jpg", testing::FlatJpeg(40, 300, {10, 100, 200}));
  const auto folder = OpenFolder({.train = root, .geometry = {.crop = 0.875, .resize = 7}}).value();
  EXPECT_EQ(folder->sample(), (ImageExtents{7, 7, 3}));
  const Sample got = ReadOne(*folder, Split::kTrain, {0, 1});
  ASSERT_TRUE(got.status.ok()) << got.status;
  for (int64_t i = 0; i < 7 * 7; ++i) {
    EXPECT_FLOAT_EQ(got.x.data<float>()[3 * i], 200.0f / 255);
    EXPECT_NEAR(got.x.data<float>()[7 * 7 * 3 + 3 * i + 2], 200.0f / 255, 0.01);
  }
  EXPECT_FALSE(OpenFolder({.train = root, .geometry = {.crop = 0}}).ok());
}

TEST(FolderTest, FirstImageOfOtherExtentsIsNamed) {
  const std::string root = Root();
  Put(root + "/train/dog/a.png", Picture(4, 7, 5));
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_TRUE(ReadOne(*folder, Split::kTrain, {0, 1, 2}).status.ok());
  EXPECT_EQ(std::string(ReadOne(*folder, Split::kTrain, {1, 3}).status.message()),
            root + "/train/dog/a.png: has 5 x 7 pixels, but the first image, " + root +
                "/train/Bird/x, has 6 x 4; images of different sizes need Geometry::resize");
}

TEST(FolderTest, BadFileIsNamedWhenItIsRead) {
  const std::string root = Root();
  Put(root + "/train/cat/1.png", {'h', 'e', 'l', 'l', 'o'});
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_THAT(std::string(ReadOne(*folder, Split::kTrain, {0, 1}).status.message()),
              HasSubstr(root + "/train/cat/1.png: is neither a JPEG nor a PNG image"));
  std::filesystem::remove(root + "/train/cat/1.png");
  EXPECT_EQ(ReadOne(*folder, Split::kTrain, {1}).status.code(), absl::StatusCode::kNotFound);
  Put(root + "/train/Bird/a.jpg", {});
  EXPECT_THAT(Error({.train = root, .test = root}), HasSubstr("/train/Bird/a.jpg: is empty"));
}

// A PNG that ends in its pixels, as a broken download does.
Bytes Truncated(int seed) {
  Bytes bytes = Picture(seed, 40, 40);
  bytes.resize(bytes.size() * 2 / 3);
  return bytes;
}

// The same samples, labels and bytes as if the damaged files were not there.
TEST(FolderTest, DamagedImagesAreLeftOutWhereThatIsAskedFor) {
  const std::string root = Root(), damaged = testing::NewFolder("folder_damaged");
  std::filesystem::copy(root, damaged, std::filesystem::copy_options::recursive);
  Put(damaged + "/train/Bird/a.png", Truncated(1));  // the first image, whose extents would count
  Put(damaged + "/train/cat/0.jpg", {});
  Put(damaged + "/train/cat/huge.png", {});
  std::filesystem::resize_file(damaged + "/train/cat/huge.png", kMaxImageFileBytes + 1);
  Bytes jpeg = testing::FlatJpeg(kHeight, kWidth, {200, 10, 10});
  jpeg.resize(jpeg.size() - 8);
  Put(damaged + "/train/dog/z.jpg", jpeg);
  Put(damaged + "/test/dog/a.png", {'h', 'e', 'l', 'l', 'o'});
  const auto whole = OpenFolder({.train = root, .test = root}).value();
  const auto opened = OpenFolder({.train = damaged, .test = damaged, .skip_damaged = true}).value();
  EXPECT_EQ(opened->size(Split::kTrain), 4);
  EXPECT_EQ(opened->size(Split::kTest), 1);
  EXPECT_EQ(opened->labels(Split::kTrain), whole->labels(Split::kTrain));
  for (const auto& [split, indices] :
       {std::pair(Split::kTrain, std::vector<int64_t>{0, 1, 2, 3}), {Split::kTest, {0}}}) {
    const Sample got = ReadOne(*opened, split, indices), wanted = ReadOne(*whole, split, indices);
    ASSERT_TRUE(got.status.ok()) << got.status;
    EXPECT_TRUE(std::ranges::equal(std::span(got.x.data<float>(), got.x.num_elements()),
                                   std::span(wanted.x.data<float>(), wanted.x.num_elements())));
    EXPECT_TRUE(std::ranges::equal(
        std::span(got.targets.data<int32_t>(), got.targets.num_elements()),
        std::span(wanted.targets.data<int32_t>(), wanted.targets.num_elements())));
  }
  const std::vector<std::string> warnings = opened->warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "5 images are damaged and skipped: " + damaged + "/train/Bird/a.png, " +
                             damaged + "/train/cat/0.jpg, " + damaged +
                             "/train/cat/huge.png and 2 more");
}

// Files of a kind that nothing here decodes are the same on every host.
TEST(FolderTest, ImagesOfAnUnknownKindAreSkippedToo) {
  const std::string root = Root();
  Bytes lossless = testing::FlatJpeg(kHeight, kWidth, {200, 10, 10});
  const Bytes frame = {0xff, 0xc0};
  const auto at = std::search(lossless.begin(), lossless.end(), frame.begin(), frame.end());
  ASSERT_NE(at, lossless.end());
  at[1] = 0xc3;
  Put(root + "/train/cat/0.jpg", lossless);
  const auto opened = OpenFolder({.train = root, .skip_damaged = true}).value();
  EXPECT_EQ(opened->size(Split::kTrain), 4);
  EXPECT_THAT(opened->warnings(), ::testing::ElementsAre("1 image is damaged and skipped: " + root +
                                                         "/train/cat/0.jpg"));
  EXPECT_THAT(
      std::string(
          ReadOne(*OpenFolder({.train = root}).value(), Split::kTrain, {1}).status.message()),
      HasSubstr("/train/cat/0.jpg: is a kind of JPEG that cannot be decoded"));
}

// Another rank, or the next run, may be able to read it.
TEST(FolderTest, AFileThatCannotBeReadIsNotADamagedOne) {
  const std::string root = Root();
  std::filesystem::create_symlink("/nowhere", root + "/train/cat/gone.png");
  const auto open = [&] { return OpenFolder({.train = root, .skip_damaged = true}).status(); };
  EXPECT_EQ(open().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(open().message()), HasSubstr(root + "/train/cat/gone.png: "));
  const absl::Status status =
      ReadOne(*OpenFolder({.train = root}).value(), Split::kTrain, {2}).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(FindNamedArgument(status).has_value()) << status << ": that option would not help";
}

TEST(FolderTest, DamagedImagesAreErrorsThatNameTheOptionElse) {
  const std::string root = Root();
  Put(root + "/train/cat/1.png", Truncated(1));
  const auto folder = OpenFolder({.train = root}).value();
  EXPECT_EQ(folder->size(Split::kTrain), 4);
  EXPECT_TRUE(folder->warnings().empty());
  const absl::Status status = ReadOne(*folder, Split::kTrain, {1}).status;
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(root + "/train/cat/1.png: "));
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::EndsWith("; is it complete? OpenDatasetOptions::skip_damaged_images leaves "
                          "damaged images out"));
  EXPECT_EQ(FindNamedArgument(status)->argument, "OpenDatasetOptions::skip_damaged_images");
}

TEST(FolderTest, ASplitOfDamagedImagesOnlyIsRefused) {
  const std::string root = Root();
  Put(root + "/test/dog/t.png", Truncated(1));
  const absl::Status status =
      OpenFolder({.train = root, .test = root, .skip_damaged = true}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("folder: all images of the test split are damaged: " + root + "/test/dog/t.png: "));
}

TEST(FolderTest, WhatIsNoImageIsSkippedWithOneWarning) {
  const std::string root = Root();
  EXPECT_TRUE(OpenFolder({.train = root, .test = root}).value()->warnings().empty());
  Put(root + "/train/cat/Thumbs.db", {1, 2, 3});
  Put(root + "/train/dog/desktop.ini", {});
  Put(root + "/test/dog/list.txt", {'x'});
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_EQ(folder->warnings(),
            (std::vector<std::string>{"3 files are not JPEG or PNG images and are skipped: " +
                                      root + "/train/cat/Thumbs.db and 2 more"}));
  EXPECT_EQ(folder->size(Split::kTrain), 4);
  EXPECT_EQ(folder->size(Split::kTest), 1);
  const Sample got = ReadOne(*folder, Split::kTrain, {0, 1, 2, 3});
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.targets.data<int32_t>()[3], 2) << "labels stay with their images";
}

TEST(FolderTest, ALinkThatLeadsBackEnds) {
  const std::string root = Root();
  std::filesystem::create_directory_symlink(root + "/train/cat", root + "/train/cat/more/again");
  EXPECT_EQ(OpenFolder({.train = root, .test = ""}).value()->size(Split::kTrain), 4);
}

// A picture would be taught as two classes.
TEST(FolderTest, AFileInTwoClassesIsRefused) {
  const auto link = [](const std::string& to, const std::string& from) {
    const std::string root = Root();
    std::filesystem::create_symlink(to, root + "/train/" + from);
    return Error({.train = root, .test = ""});
  };
  EXPECT_THAT(link("..", "cat/loop"),
              HasSubstr("/train: Bird/x and cat/loop/Bird/x are one file, which counts in two "
                        "classes, Bird and cat; remove the link"));
  EXPECT_THAT(link("../cat/1.png", "dog/same.png"),
              HasSubstr("cat/1.png and dog/same.png are one file"));
  EXPECT_THAT(link("cat", "fish"), HasSubstr("counts in two classes, cat and fish"));

  const std::string root = Root();
  std::filesystem::create_symlink("1.png", root + "/train/cat/same.png");  // one class
  std::filesystem::create_symlink(root + "/test/dog/t.png", root + "/train/dog/t.png");
  EXPECT_EQ(OpenFolder({.train = root, .test = root}).value()->size(Split::kTrain), 6);
}

TEST(FolderTest, LabelsAreKnownWithoutReading) {
  const std::string root = Root();
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_EQ(folder->labels(Split::kTrain), (std::vector<int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(folder->labels(Split::kTest), std::vector<int32_t>{2});
}

TEST(FolderTest, ClassesWithoutImagesAreWarnedOf) {
  const std::string root = Root();
  std::filesystem::create_directories(root + "/train/empty");
  std::filesystem::create_directories(root + "/train/__MACOSX");
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_EQ(folder->outputs(), 4);
  EXPECT_EQ(folder->warnings(),
            std::vector<std::string>{"folder: 1 of 4 classes has no training samples: empty"});
}

TEST(FolderTest, ValIsTheTestSplitWhereThereIsNoTest) {
  const std::string root = Root();
  std::filesystem::rename(root + "/test", root + "/val");
  const auto folder = OpenFolder({.train = root, .test = root}).value();
  EXPECT_EQ(folder->size(Split::kTest), 1);
  EXPECT_EQ(folder->warnings(), std::vector<std::string>{root + ": has no folder test; " + root +
                                                         "/val is taken as the test split"});
  EXPECT_EQ(*FolderOfSplit(root, Split::kTest), root + "/val");
  EXPECT_EQ(*FolderOfSplit(root, Split::kTrain), root + "/train");
  std::filesystem::rename(root + "/val", root + "/eval");
  EXPECT_THAT(Error({.train = root, .test = root}), HasSubstr(root + "/test: no such folder"));
}

TEST(FolderTest, PartsMayBeLeftOut) {
  const std::string root = Root();
  const auto train = OpenFolder({.train = root, .test = ""}).value();
  EXPECT_EQ(train->size(Split::kTest), 0);
  const auto test = OpenFolder({.train = "", .test = root}).value();
  EXPECT_EQ(test->size(Split::kTrain), 0);
  EXPECT_EQ(test->outputs(), 3) << "classes are numbered as in training";
  std::filesystem::remove_all(root + "/train");
  EXPECT_EQ(OpenFolder({.train = "", .test = root}).value()->class_names(),
            std::vector<std::string>{"dog"});
}

TEST(FolderTest, WhatIsMissingIsSaid) {
  const std::string root = Root();
  EXPECT_THAT(Error({}), HasSubstr("no path was given"));
  EXPECT_THAT(Error({.train = root + "/no", .test = ""}),
              HasSubstr(root + "/no/train: no such folder; expected <path>/train/<class>"));
  Put(root + "/test/whale/w.png", Picture(1));
  EXPECT_EQ(Error({.train = root, .test = root}),
            root + "/test/whale: is the folder of a class that the training split does not have");
  std::filesystem::remove_all(root + "/test");
  std::filesystem::create_directories(root + "/test");
  EXPECT_THAT(Error({.train = root, .test = root}), HasSubstr("/test: contains no folders"));
  std::filesystem::create_directories(root + "/test/dog");
  EXPECT_THAT(Error({.train = root, .test = root}),
              HasSubstr("/test: its folders contain no JPEG or PNG images"));
}

TEST(FolderTest, SeveralThreadsReadTheSame) {
  const std::string root = Root();
  const auto folder = OpenFolder({.train = root, .test = ""}).value();
  const Sample expected = ReadOne(*folder, Split::kTrain, {0, 1, 2, 3});
  std::vector<Sample> got(3);
  std::vector<std::thread> threads;
  for (Sample& sample : got) {
    threads.emplace_back([&] { sample = ReadOne(*folder, Split::kTrain, {0, 1, 2, 3}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Sample& sample : got) {
    ASSERT_TRUE(sample.status.ok());
    for (int64_t i = 0; i < expected.x.num_elements(); ++i) {
      ASSERT_EQ(sample.x.data<float>()[i], expected.x.data<float>()[i]);
    }
  }
}

}  // namespace
}  // namespace dtnn
