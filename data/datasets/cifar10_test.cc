#include "data/datasets/cifar10.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/loading/split.h"
#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::Member;
using testing::NewFolder;
using testing::TarBytes;
using testing::WriteFile;

constexpr size_t kRecord = 3073;

// Record i of a file has label (i + first) mod 10; its red is 10, its green 20 and its blue 30.
Bytes Batch(int count, int first) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(uint8_t((i + first) % 10));
    for (uint8_t channel : {10, 20, 30}) bytes.insert(bytes.end(), 1024, channel);
  }
  return bytes;
}

std::vector<Member> Members() {
  std::vector<Member> members = {{"cifar-10-batches-bin/batches.meta.txt", {'x'}}};
  for (int i = 1; i <= 5; ++i) {
    members.push_back(
        {"cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", Batch(2, i)});
  }
  members.push_back({"cifar-10-batches-bin/test_batch.bin", Batch(3, 7)});
  return members;
}

std::string Archive() {
  return WriteFile(NewFolder("cifar10"), "cifar-10-binary.tar.gz", Gzip(TarBytes(Members())));
}

std::vector<int32_t> Labels(const Dataset& dataset, Split split) {
  const int64_t n = dataset.size(split);
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{n, 32, 32, 3}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{n}).value();
  EXPECT_TRUE(dataset.Read(split, AllIndices(n), TensorFormat::kNHWC, x, targets).ok());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    EXPECT_EQ(x.data<float>()[i], float(10 * (i % 3 + 1)) * (1.0f / 255));
  }
  return {targets.data<int32_t>(), targets.data<int32_t>() + n};
}

TEST(Cifar10Test, BatchesAreReadInOrder) {
  const std::string archive = Archive();
  const auto dataset = LoadCifar10({archive, archive}).value();
  EXPECT_EQ(dataset->name(), "cifar10");
  EXPECT_EQ(dataset->sample(), (ImageExtents{32, 32, 3}));
  EXPECT_EQ(dataset->outputs(), 10);
  EXPECT_EQ(dataset->class_names()[9], "truck");
  EXPECT_EQ(Labels(*dataset, Split::kTrain), (std::vector<int32_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  EXPECT_EQ(Labels(*dataset, Split::kTest), (std::vector<int32_t>{7, 8, 9}));
  const std::string folder = archive.substr(0, archive.rfind('/'));
  EXPECT_EQ(LoadCifar10({folder, folder}).value()->size(Split::kTrain), 10) << "which holds it";
}

TEST(Cifar10Test, PartsMayComeFromTwoPlacesOrBeLeftOut) {
  const std::string archive = Archive();
  const std::string folder = NewFolder("cifar10_test_part");
  WriteFile(folder, "test_batch.bin", Batch(4, 0));
  const auto both = LoadCifar10({archive, folder}).value();
  EXPECT_EQ(both->size(Split::kTrain), 10);
  EXPECT_EQ(both->size(Split::kTest), 4);
  EXPECT_EQ(LoadCifar10({archive, ""}).value()->size(Split::kTest), 0);
  EXPECT_EQ(LoadCifar10({"", folder}).value()->size(Split::kTrain), 0);
  EXPECT_EQ(LoadCifar10({"", ""}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Cifar10Test, MissingFilesAreListedWithTheWayToGetThem) {
  const std::string folder = NewFolder("cifar10_empty");
  const absl::Status status = LoadCifar10({folder, folder}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  for (const char* expected :
       {"data_batch_1.bin", "data_batch_5.bin", "test_batch.bin", "cifar-10-batches-bin",
        "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
}

TEST(Cifar10Test, WrongLabelNamesTheArchiveTheMemberAndTheRecord) {
  std::vector<Member> members = Members();
  members[3].bytes[kRecord] = 10;
  const std::string path = WriteFile(NewFolder("cifar10_label"), "x.tar", TarBytes(members));
  EXPECT_EQ(LoadCifar10({path, path}).status().message(),
            path +
                ": cifar-10-batches-bin/data_batch_3.bin: the label of record 1 is 10; "
                "expected 0 to 9");
}

// The real data, where the environment says where they are.
TEST(Cifar10Test, RealData) {
  const char* path = std::getenv("DTNN_CIFAR10");
  if (path == nullptr) {
    GTEST_SKIP() << "set DTNN_CIFAR10 to cifar-10-binary.tar.gz (--test_env=DTNN_CIFAR10=...)";
  }
  const auto dataset = LoadCifar10({path, path}).value();
  const std::array<std::vector<int32_t>, 2> first = {
      std::vector<int32_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3},
      std::vector<int32_t>{3, 8, 8, 0, 6, 6, 1, 6, 3, 1}};
  for (Split split : {Split::kTrain, Split::kTest}) {
    const int64_t n = split == Split::kTrain ? 50000 : 10000;
    ASSERT_EQ(dataset->size(split), n);
    const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{1000, 3, 32, 32}).value();
    const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{1000}).value();
    std::array<int64_t, 10> histogram = {};
    const std::vector<int64_t> all = AllIndices(n);
    for (int64_t begin = 0; begin < n; begin += 1000) {
      ASSERT_TRUE(
          dataset->Read(split, std::span(all).subspan(begin, 1000), TensorFormat::kNCHW, x, targets)
              .ok());
      const int32_t* labels = targets.data<int32_t>();
      for (int i = 0; i < 1000; ++i) ++histogram[labels[i]];
      if (begin == 0) {
        EXPECT_EQ(std::vector<int32_t>(labels, labels + 10), first[split == Split::kTest]);
      }
    }
    for (int64_t count : histogram) EXPECT_EQ(count, n / 10);
  }
}

}  // namespace
}  // namespace dtnn
