#include "data/datasets/mnist.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "data/loading/fingerprint.h"
#include "data/loading/split.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Elements;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::IdxBytes;
using testing::WriteFile;

constexpr uint32_t kTrain = 7, kTest = 4, kHeight = 3, kWidth = 5;

Bytes Images(uint32_t count, uint32_t height = kHeight, uint32_t width = kWidth) {
  return IdxBytes({count, height, width}, Elements(count * height * width));
}

Bytes Labels(uint32_t count) {
  Bytes labels(count);
  for (uint32_t i = 0; i < count; ++i) labels[i] = uint8_t(i * 3 % 10);
  return IdxBytes({count}, labels);
}

// A folder with the four files.
std::string Folder() {
  const std::string folder = testing::NewFolder("mnist");
  WriteFile(folder, "train-images-idx3-ubyte", Images(kTrain));
  WriteFile(folder, "train-labels-idx1-ubyte", Labels(kTrain));
  WriteFile(folder, "t10k-images-idx3-ubyte.gz", Gzip(Images(kTest)));
  WriteFile(folder, "t10k-labels-idx1-ubyte.gz", Gzip(Labels(kTest)));
  return folder;
}

std::string Error(const MnistPaths& paths) {
  const absl::Status status = LoadMnist(paths).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

std::string Error(const std::string& folder) { return Error(MnistPaths{folder, folder}); }

TEST(MnistTest, DescribesItself) {
  const std::string folder = Folder();
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const auto mnist = LoadMnist({folder, folder}).value();
    EXPECT_EQ(mnist->name(), "mnist");
    EXPECT_EQ(mnist->sample(), (ImageExtents{kHeight, kWidth, 1}));
    EXPECT_EQ(mnist->outputs(), 10);
    EXPECT_EQ(mnist->size(Split::kTrain), kTrain);
    EXPECT_EQ(mnist->size(Split::kTest), kTest);
  }
}

template <typename T>
void ExpectSamples(const Dataset& mnist, TensorFormat format) {
  const std::vector<int64_t> indices = {6, 0, 3, 3};
  const Shape shape = SampleShape(mnist.sample(), format).Prepend(4);
  const Tensor x = Tensor::Allocate(Device::Cpu(), DTypeOf<T>(), shape).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{4}).value();
  ASSERT_TRUE(mnist.Read(Split::kTrain, indices, format, x, targets).ok());
  const Bytes images = Elements(kTrain * kHeight * kWidth);
  for (size_t i = 0; i < indices.size(); ++i) {
    EXPECT_EQ(targets.data<int32_t>()[i], indices[i] * 3 % 10);
    for (size_t pixel = 0; pixel < kHeight * kWidth; ++pixel) {
      EXPECT_EQ(x.data<T>()[i * kHeight * kWidth + pixel],
                T(images[indices[i] * kHeight * kWidth + pixel]) * (T(1) / 255));
    }
  }
}

TEST(MnistTest, ReadGivesPixelsAndLabelsByIndex) {
  const std::string folder = Folder();
  const auto mnist = LoadMnist({folder, folder}).value();
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    ExpectSamples<float>(*mnist, format);
    ExpectSamples<double>(*mnist, format);
  }
}

TEST(MnistTest, ReadChecksItsArguments) {
  const std::string folder = Folder();
  const auto mnist = LoadMnist({folder, folder}).value();
  const auto read = [&](std::vector<int64_t> indices, const Shape& shape, int64_t targets,
                        DType dtype = DType::kFloat32) {
    return mnist->Read(Split::kTest, indices, TensorFormat::kNHWC,
                       Tensor::Zeros(dtype, shape).value(),
                       Tensor::Zeros(DType::kInt32, Shape{targets}).value());
  };
  const Shape two = {2, kHeight, kWidth, 1};
  EXPECT_TRUE(read({0, 3}, two, 2).ok());
  EXPECT_TRUE(read({}, Shape{0, kHeight, kWidth, 1}, 0).ok());
  EXPECT_EQ(read({0, 4}, two, 2).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(read({-1, 0}, two, 2).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(read({0, 1}, two, 3).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(read({0}, two, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(read({0, 1}, Shape{2, 1, kHeight, kWidth}, 2).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(read({0, 1}, two, 2, DType::kUint8).ok());
  EXPECT_EQ(read({0, 1}, two, 2, DType::kInt32).code(), absl::StatusCode::kInvalidArgument);
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{2}).value();
  const std::vector<int64_t> first = {0, 1};
  EXPECT_FALSE(mnist->Read(Split::kTest, first, TensorFormat::kNHWC, Tensor(), targets).ok());
  const Tensor x = Tensor::Zeros(DType::kFloat32, two).value();
  EXPECT_FALSE(mnist->Read(Split::kTest, first, TensorFormat::kNHWC, x, Tensor()).ok());
  EXPECT_FALSE(mnist->Read(Split::kTest, first, TensorFormat::kNHWC, x, x).ok());
}

TEST(MnistTest, PlainComesBeforeGzipAndBothSpellingsAreFound) {
  const std::string folder = Folder();
  WriteFile(folder, "train-images-idx3-ubyte.gz", Bytes{1, 2, 3});
  EXPECT_TRUE(LoadMnist({folder, folder}).ok());
  for (const char* name : {"t10k-images", "t10k-labels"}) {
    const std::string ending = name[5] == 'i' ? "idx3-ubyte.gz" : "idx1-ubyte.gz";
    std::filesystem::rename(folder + "/" + name + "-" + ending, folder + "/" + name + "." + ending);
  }
  EXPECT_TRUE(LoadMnist({folder, folder}).ok());
}

TEST(MnistTest, PartsMayComeFromTwoFoldersOrBeLeftOut) {
  const std::string train = Folder();
  const std::string test = testing::NewFolder("mnist_test_part");
  for (const char* name : {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}) {
    std::filesystem::rename(train + "/" + name, test + "/" + name);
  }
  const auto both = LoadMnist({train, test}).value();
  EXPECT_EQ(both->size(Split::kTrain), kTrain);
  EXPECT_EQ(both->size(Split::kTest), kTest);
  EXPECT_EQ(LoadMnist({train, ""}).value()->size(Split::kTest), 0);
  const auto only_test = LoadMnist({"", test}).value();
  EXPECT_EQ(only_test->size(Split::kTrain), 0);
  EXPECT_EQ(only_test->size(Split::kTest), kTest);
  EXPECT_EQ(LoadMnist({"", ""}).status().message(), "mnist: no folder was given");
}

TEST(MnistTest, MissingFileListsTheNamesAndTheWayToGetIt) {
  const std::string folder = Folder();
  std::filesystem::remove(folder + "/train-labels-idx1-ubyte");
  const std::string error = Error(folder);
  EXPECT_THAT(
      error,
      HasSubstr(folder +
                ": the folder contains none of train-labels-idx1-ubyte, train-labels.idx1-ubyte, "
                "train-labels-idx1-ubyte.gz, train-labels.idx1-ubyte.gz. "));
  EXPECT_THAT(error, HasSubstr("sudo apt-get install dataset-fashion-mnist"));
  EXPECT_THAT(error, HasSubstr("f68b3c2dcbeaaa9fbdd348bbdeb94873"));
  EXPECT_THAT(Error("/nowhere/at/all"), HasSubstr("/nowhere/at/all: no such folder"));
  EXPECT_THAT(Error(folder + "/train-images-idx3-ubyte"), HasSubstr("is not a folder"));
}

TEST(MnistTest, FolderThatCannotBeLookedIntoIsNotAnEmptyOne) {
  const std::string loop = Folder() + "/loop";
  std::filesystem::create_symlink("loop", loop);  // denied to root as well, unlike permissions
  EXPECT_THAT(Error(loop), HasSubstr(loop + "/train-images-idx3-ubyte: cannot be accessed: "));
}

TEST(MnistTest, LabelsAreChecked) {
  const std::string folder = Folder();
  Bytes labels = Labels(kTrain);
  labels[8 + 5] = 10;
  const std::string path = WriteFile(folder, "train-labels-idx1-ubyte", labels);
  EXPECT_EQ(Error(folder), path + ": the label of sample 5 is 10; expected 0 to 9");
}

TEST(MnistTest, LabelsStayWhatWasChecked) {
  const std::string folder = Folder();
  const auto mnist = LoadMnist({folder, folder}).value();
  std::fstream file(folder + "/train-labels-idx1-ubyte",
                    std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(8);
  file.write("\xff\xff\xff", 3).flush();
  ExpectSamples<float>(*mnist, TensorFormat::kNHWC);
}

TEST(MnistTest, CountsMustAgree) {
  const std::string folder = Folder();
  WriteFile(folder, "train-labels-idx1-ubyte", Labels(kTrain - 1));
  EXPECT_THAT(Error(folder), HasSubstr("contains 6 labels, but"));
  EXPECT_THAT(Error(folder), HasSubstr("contains 7 images"));
}

TEST(MnistTest, ExtentsMustAgree) {
  const std::string folder = Folder();
  WriteFile(folder, "t10k-images-idx3-ubyte", Images(kTest, kWidth, kHeight));
  EXPECT_THAT(Error(folder), HasSubstr("contains images of (5, 3) but"));
}

TEST(MnistTest, RankAndEmptinessAreChecked) {
  const std::string folder = Folder();
  WriteFile(folder, "train-images-idx3-ubyte", Labels(kTrain));
  EXPECT_THAT(Error(folder), HasSubstr("has shape (7,); expected rank 3"));
  WriteFile(folder, "train-images-idx3-ubyte", Images(0));
  EXPECT_THAT(Error(folder), HasSubstr("which has no samples"));
  WriteFile(folder, "train-images-idx3-ubyte", {});
  EXPECT_THAT(Error(folder), HasSubstr("train-images-idx3-ubyte: is empty"));
}

TEST(MnistTest, ClassesHaveTheNamesThatStandBesideTheFiles) {
  const std::string folder = Folder();
  EXPECT_THAT(LoadMnist({folder, folder}).value()->class_names(), ::testing::IsEmpty());
  const DataFingerprint nameless =
      *Fingerprint(*LoadMnist({folder, folder}).value(), Split::kTrain);
  const std::string text = "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
  WriteFile(folder, "classes.txt", Bytes(text.begin(), text.end()));
  for (const MnistPaths& paths :
       {MnistPaths{folder, folder}, MnistPaths{folder, ""}, MnistPaths{"", folder}}) {
    const std::vector<std::string> names = LoadMnist(paths).value()->class_names();
    ASSERT_EQ(names.size(), 10u);
    EXPECT_EQ(names[9], "nine");
  }
  EXPECT_EQ(*Fingerprint(*LoadMnist({folder, folder}).value(), Split::kTrain), nameless);
  const std::string other = testing::NewFolder("mnist_other");
  for (const char* split : {"train", "t10k"}) {
    WriteFile(other, std::string(split) + "-images-idx3-ubyte", Images(kTest));
    WriteFile(other, std::string(split) + "-labels-idx1-ubyte", Labels(kTest));
  }
  EXPECT_EQ(LoadMnist({other, folder}).value()->class_names()[9], "nine");
  WriteFile(other, "classes.txt", Bytes(text.rbegin() + 1, text.rend()));
  EXPECT_THAT(Error({other, folder}), HasSubstr("have different lists of classes"));
  WriteFile(other, "classes.txt", Bytes(text.begin(), text.begin() + 9));
  EXPECT_THAT(Error(other), HasSubstr("classes.txt: has fewer names"));
}

// Its files hold no names; its labels are those of no other data set.
TEST(MnistTest, FashionMnistIsKnownByItsLabels) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing: sudo apt-get install dataset-fashion-mnist";
  }
  const std::string copy = testing::NewFolder("fashion");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::create_symlink(entry.path(), copy + "/" + entry.path().filename().string());
  }
  for (const MnistPaths& paths :
       {MnistPaths{copy, copy}, MnistPaths{copy, ""}, MnistPaths{"", copy}}) {
    const std::vector<std::string> names = LoadMnist(paths).value()->class_names();
    ASSERT_EQ(names.size(), 10u);
    EXPECT_EQ(names[0], "T-shirt/top");
    EXPECT_EQ(names[9], "Ankle boot");
  }
  std::filesystem::remove(copy + "/t10k-labels-idx1-ubyte.gz");
  WriteFile(copy, "t10k-labels-idx1-ubyte", Labels(10000));
  EXPECT_THAT(LoadMnist({copy, copy}).value()->class_names(), ::testing::IsEmpty());
}

TEST(MnistTest, RealFashionMnist) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing: sudo apt-get install dataset-fashion-mnist";
  }
  const auto mnist = LoadMnist({folder, folder}).value();
  EXPECT_EQ(mnist->sample(), (ImageExtents{28, 28, 1}));
  const std::array<int64_t, 2> sizes = {60000, 10000};
  const std::array<double, 2> means = {72.9404 / 255, 73.1466 / 255};  // published: 0.2860
  for (Split split : {Split::kTrain, Split::kTest}) {
    const int64_t size = mnist->size(split);
    ASSERT_EQ(size, sizes[int(split)]);
    const Tensor x =
        Tensor::Allocate(Device::Cpu(), DType::kFloat32, Shape{size, 28, 28, 1}).value();
    const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{size}).value();
    ASSERT_TRUE(mnist->Read(split, AllIndices(size), TensorFormat::kNHWC, x, targets).ok());
    const int32_t* first = targets.data<int32_t>();
    const std::vector<int32_t> labels(first, first + size);
    for (int label = 0; label < 10; ++label) {
      EXPECT_EQ(std::count(labels.begin(), labels.end(), label), size / 10);
    }
    double sum = 0;
    for (int64_t i = 0; i < x.num_elements(); ++i) sum += x.data<float>()[i];
    EXPECT_NEAR(sum / double(x.num_elements()), means[int(split)], 1e-5);
    if (split == Split::kTrain) {
      EXPECT_EQ(std::vector<int32_t>(labels.begin(), labels.begin() + 10),
                (std::vector<int32_t>{9, 0, 0, 3, 0, 2, 7, 2, 5, 5}));
    }
  }
}

}  // namespace
}  // namespace dtnn
