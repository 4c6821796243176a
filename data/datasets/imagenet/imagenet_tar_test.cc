#include "data/datasets/imagenet/imagenet_tar.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/datasets/imagenet/imagenet.h"
#include "data/datasets/imagenet/imagenet_archives.h"
#include "data/datasets/imagenet/imagenet_npz.h"
#include "data/datasets/imagenet/imagenet_synsets.h"
#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "data/testing/matlab_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

using testing::FlatJpeg;
using ::testing::HasSubstr;
using testing::TarBytes;
using testing::WriteFile;
using Bytes = std::vector<uint8_t>;

Bytes Text(std::string_view text) { return Bytes(text.begin(), text.end()); }

// The kit's numbers are not in the order of the names, and one synset is not a class.
const std::vector<testing::Synset> kSynsets = {
    {1, "n02", "two, second"}, {2, "n03", "three"}, {3, "n01", "one"}, {1001, "n00", "all"}};
constexpr char kKit[] = "ILSVRC2012_devkit_t12/data/";

void WriteKit(const std::string& root, std::string_view labels) {
  WriteFile(root, "ILSVRC2012_devkit_t12.tar.gz",
            testing::Gzip(TarBytes(
                {{std::string(kKit) + "meta.mat", testing::SynsetBytes(kSynsets)},
                 {"ILSVRC2012_devkit_t12/readme.txt", {'x'}},
                 {std::string(kKit) + "ILSVRC2012_validation_ground_truth.txt", Text(labels)}})));
}

// Every class is one colour, images differ in size.
std::string Root() {
  const std::string root = testing::NewFolder("imagenet_tar");
  WriteFile(root, kImagenetTrainTar,
            TarBytes({{"n03.tar", TarBytes({{"n03_1.JPEG", FlatJpeg(9, 8, {30, 0, 0})},
                                            {"n03_7.JPEG", FlatJpeg(20, 5, {30, 0, 0})}})},
                      {"n01.tar", TarBytes({{"n01_4.JPEG", FlatJpeg(8, 8, {10, 0, 0})}})}}));
  WriteFile(root, kImagenetValidationTar,
            TarBytes({{"ILSVRC2012_val_00000002.JPEG", FlatJpeg(8, 8, {30, 0, 0})},
                      {"ILSVRC2012_val_00000001.JPEG", FlatJpeg(7, 8, {20, 0, 0})}}));
  WriteKit(root, "1\n2\n");
  return root;
}

std::string Error(const ImagenetTarOptions& options) {
  const absl::Status status = OpenImagenetTar(options).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

// Classes from 1 times ten are the red of each image.
void ExpectReds(const Dataset& dataset, Split split, const std::vector<int>& classes) {
  const int64_t n = dataset.size(split);
  ASSERT_EQ(size_t(n), classes.size());
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{n, 4, 4, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{n}).value();
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < n; ++i) indices.push_back(i);
  const absl::Status status = dataset.Read(split, indices, TensorFormat::kNHWC, x, targets);
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(targets.data<int32_t>()[i], classes[size_t(i)] - 1);
    EXPECT_NEAR(x.data<float>()[i * 48] * 255, classes[size_t(i)] * 10, 2);
  }
}

constexpr Geometry kResize = {.crop = 1, .resize = 4};

TEST(ImagenetTarTest, ClassesAreInTheOrderOfTheirNames) {
  const std::string root = Root();
  const auto imagenet = OpenImagenetTar({.train = root, .test = root, .geometry = kResize}).value();
  EXPECT_EQ(imagenet->name(), "imagenet");
  EXPECT_EQ(imagenet->outputs(), 3);
  EXPECT_EQ(imagenet->sample(), (ImageExtents{4, 4, 3}));
  EXPECT_EQ(imagenet->class_names(), (std::vector<std::string>{"one", "two, second", "three"}));
  ExpectReds(*imagenet, Split::kTrain, {1, 3, 3});
  ExpectReds(*imagenet, Split::kTest, {2, 3});
}

TEST(ImagenetTarTest, TrainingNeedsNoKit) {
  const std::string root = Root();
  std::filesystem::remove(root + "/ILSVRC2012_devkit_t12.tar.gz");
  const auto train = OpenImagenet({.train = root, .geometry = kResize}).value();
  EXPECT_EQ(train->class_names(), (std::vector<std::string>{"n01", "n03"}));
  EXPECT_EQ(train->size(Split::kTrain), 3);
}

TEST(ImagenetTarTest, KitMayBeUnpacked) {
  const std::string root = Root();
  std::filesystem::remove(root + "/ILSVRC2012_devkit_t12.tar.gz");
  std::filesystem::create_directories(root + "/" + kKit);
  WriteFile(root + "/" + kKit, "meta.mat", testing::SynsetBytes(kSynsets, false));
  WriteFile(root + "/" + kKit, "ILSVRC2012_validation_ground_truth.txt", Text("3\n2"));
  const auto imagenet = OpenImagenet({.test = root, .geometry = kResize}).value();
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{2, 4, 4, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{2}).value();
  ASSERT_TRUE(
      imagenet->Read(Split::kTest, std::vector<int64_t>{0, 1}, TensorFormat::kNHWC, x, targets)
          .ok());
  EXPECT_EQ(targets.data<int32_t>()[0], 0);
  EXPECT_EQ(targets.data<int32_t>()[1], 2);
}

TEST(ImagenetTarTest, WhatDoesNotBelongTogetherIsRefused) {
  const std::string root = Root();
  EXPECT_THAT(Error({.train = root}), HasSubstr("set Geometry::resize"));
  WriteKit(root, "1\n");
  EXPECT_THAT(Error({.test = root, .geometry = kResize}),
              HasSubstr("contains 2 images but the development kit has 1 validation labels"));
  WriteKit(root, "1\n4\n");
  EXPECT_THAT(Error({.test = root, .geometry = kResize}),
              HasSubstr("ground_truth.txt, line 2: expected a number from 1 to 3"));
  WriteFile(root, kImagenetTrainTar, TarBytes({{"n09.tar", TarBytes({{"x", {1}}})}}));
  WriteKit(root, "1\n2\n");
  EXPECT_THAT(Error({.train = root, .geometry = kResize}),
              HasSubstr("class n09 is not listed in the development kit"));
  WriteFile(root, kImagenetTrainTar, TarBytes({{"image.JPEG", {1}}}));
  EXPECT_THAT(Error({.train = root, .geometry = kResize}),
              HasSubstr("member image.JPEG is not an archive of a class"));
  for (const bool train : {true, false}) {
    const std::string path = root + "/" + (train ? kImagenetTrainTar : kImagenetValidationTar);
    WriteFile(root, train ? kImagenetTrainTar : kImagenetValidationTar, TarBytes({}));
    EXPECT_EQ(Error({.train = train ? root : "", .test = train ? "" : root, .geometry = kResize}),
              path + ": contains no files");
  }
  std::filesystem::remove(root + "/" + kImagenetTrainTar);
  EXPECT_THAT(Error({.train = root, .geometry = kResize}),
              HasSubstr("ILSVRC2012_img_train.tar: no such file. Download the archives"));
  std::filesystem::remove(root + "/ILSVRC2012_devkit_t12.tar.gz");
  EXPECT_THAT(Error({.test = root, .geometry = kResize}), HasSubstr("development kit"));
}

TEST(ImagenetTarTest, BadImageIsNamedByArchiveAndMember) {
  const std::string root = Root();
  WriteFile(root, kImagenetValidationTar,
            TarBytes({{"ILSVRC2012_val_00000001.JPEG", {1, 2, 3, 4}},
                      {"ILSVRC2012_val_00000002.JPEG", {}}}));
  const auto imagenet = OpenImagenetTar({.test = root, .geometry = kResize}).value();
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{1, 4, 4, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{1}).value();
  const absl::Status status =
      imagenet->Read(Split::kTest, std::vector<int64_t>{0}, TensorFormat::kNHWC, x, targets);
  EXPECT_EQ(
      std::string(status.message()),
      root +
          "/ILSVRC2012_img_val.tar: ILSVRC2012_val_00000001.JPEG: is neither a JPEG nor a "
          "PNG image: it starts with 01 02 03 04; OpenDatasetOptions::skip_damaged_images leaves "
          "damaged images out");
}

TEST(ImagenetTarTest, DamagedImagesAreLeftOutWhereThatIsAskedFor) {
  const std::string root = Root();
  std::vector<uint8_t> cut = FlatJpeg(9, 8, {20, 0, 0});
  cut.resize(cut.size() - 4);
  WriteFile(root, kImagenetTrainTar,
            TarBytes({{"n03.tar", TarBytes({{"n03_1.JPEG", cut},
                                            {"n03_7.JPEG", FlatJpeg(20, 5, {30, 0, 0})}})},
                      {"n01.tar", TarBytes({{"n01_4.JPEG", FlatJpeg(8, 8, {10, 0, 0})}})}}));
  const auto imagenet =
      OpenImagenetTar({.train = root, .geometry = kResize, .skip_damaged = true}).value();
  EXPECT_EQ(imagenet->labels(Split::kTrain).size(), 2u);
  const std::vector<std::string> warnings = imagenet->warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "1 image is damaged and skipped: " + root +
                             "/ILSVRC2012_img_train.tar: n03.tar/n03_1.JPEG");
  const auto whole = OpenImagenetTar({.train = Root(), .geometry = kResize}).value();
  std::vector<int32_t> labels = whole->labels(Split::kTrain);
  EXPECT_EQ(labels.size(), 3u);
  labels.erase(std::ranges::find(labels, labels.back()));  // the first of n03
  EXPECT_EQ(imagenet->labels(Split::kTrain), labels);
}

TEST(ImagenetSynsetsTest, NumbersMustBeComplete) {
  const auto error = [](const std::vector<testing::Synset>& synsets) {
    return std::string(
        ParseImagenetSynsets(testing::SynsetBytes(synsets), "", "kit").status().message());
  };
  EXPECT_EQ(error({{1, "a", ""}, {3, "b", ""}}),
            "kit: meta.mat: expected exactly one synset with number 2");
  EXPECT_EQ(error({{1, "a", ""}, {2, "a", ""}}), "kit: meta.mat: synset a is listed twice");
  EXPECT_EQ(error({}), "kit: meta.mat: contains no synsets");
}

TEST(ImagenetSynsetsTest, TheThousandAreClassesAndInnerNodesAreNot) {
  std::vector<testing::Synset> synsets = {{0, "root", ""}, {1001, "n", "inner"}};
  for (int number = 1; number <= 1000; ++number) {
    synsets.push_back(
        {number, "n" + std::to_string(20'000 - number), "words of " + std::to_string(number)});
  }
  const auto read =
      ParseImagenetSynsets(testing::SynsetBytes(synsets), "1000\n1\n2\n", "kit").value();
  ASSERT_EQ(read.names.size(), 1000u);
  EXPECT_EQ(read.names.front(), "n19000");
  EXPECT_EQ(read.words.front(), "words of 1000");
  EXPECT_EQ(read.validation, (std::vector<int32_t>{0, 999, 998}));
  for (const std::string_view wrong : {"1\n0\n", "1\n1001\n", "1\nn\n"}) {
    const auto refused = ParseImagenetSynsets(testing::SynsetBytes(synsets), wrong, "kit").status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("expected a number from 1 to 1000"));
  }
}

TEST(ImagenetSynsetsTest, EveryFieldHasItsKind) {
  using Value = std::variant<double, std::string>;
  const std::vector<Value> whole = {1.0, "n01", "a word"};
  for (const size_t field : {0u, 1u, 2u}) {
    testing::MatlabStructs structs = {.fields = {"ILSVRC2012_ID", "WNID", "words"},
                                      .rows = {whole}};
    Value& value = structs.rows[0][field];
    value = field == 0 ? Value("1") : Value(1.0);
    EXPECT_EQ(
        ParseImagenetSynsets(testing::MatlabBytes(structs, true), "", "kit").status().message(),
        "kit: meta.mat: a synset has no number, name or words");
  }
}

// A model says what was done to its images, also when they had it before.
TEST(ImagenetTest, FilesOfPreprocessedImagesAreNotCroppedAgain) {
  const std::string root = testing::NewFolder("imagenet");
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{1, 3, 227, 227}).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<uint8_t>()[i] = uint8_t(i * i);
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{1, 1}).value();
  y.data<int32_t>()[0] = 1;
  ASSERT_TRUE(WriteNpz(root + "/train-0.npz", {{"x", x}, {"y", y}}).ok());
  const auto whole = OpenImagenet({.train = root, .whole = true}).value();
  const auto again =
      OpenImagenet(
          {.train = root, .geometry = whole->preprocessing().geometry->geometry, .whole = true})
          .value();
  EXPECT_EQ(again->preprocessing().geometry, whole->preprocessing().geometry);
  ASSERT_EQ(again->sample(), whole->sample());
  std::vector<std::vector<float>> values;
  for (const auto& imagenet : {whole, again}) {
    std::vector<float>& read = values.emplace_back(3 * 227 * 227);
    const Tensor to = Tensor::Zeros(DType::kFloat32, Shape{1, 3, 227, 227}).value();
    const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{1}).value();
    ASSERT_TRUE(
        imagenet->Read(Split::kTrain, std::vector<int64_t>{0}, TensorFormat::kNCHW, to, targets)
            .ok());
    std::copy_n(to.data<float>(), read.size(), read.begin());
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(OpenImagenet({.train = root, .geometry = kImagenetShardGeometry}).value()->sample(),
            whole->sample())
      << "as of the archives";
}

TEST(ImagenetTest, FilesOfPreprocessedImagesAreUsedElse) {
  const std::string root = testing::NewFolder("imagenet");
  const Tensor x = Tensor::Zeros(DType::kUint8, Shape{1, 3, 227, 227}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, Shape{1, 1}).value();
  y.data<int32_t>()[0] = 1;
  ASSERT_TRUE(WriteNpz(root + "/train-0.npz", {{"x", x}, {"y", y}}).ok());
  const auto imagenet = OpenImagenet({.train = root}).value();
  EXPECT_EQ(imagenet->sample(), (ImageExtents{224, 224, 3}));
  const auto small = OpenImagenet({.train = root, .geometry = {.resize = 32}}).value();
  EXPECT_EQ(small->sample(), (ImageExtents{32, 32, 3}));
  EXPECT_EQ(small->groups(Split::kTrain).begins, std::vector<int64_t>{0});
  const absl::Status skips = OpenImagenet({.train = root, .skip_damaged = true}).status();
  EXPECT_EQ(skips.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(skips.message()), HasSubstr(root + ": contains .npz files, whose"));
  EXPECT_EQ(FindNamedArgument(skips)->argument, "OpenDatasetOptions::skip_damaged_images");
}

}  // namespace
}  // namespace dtnn
