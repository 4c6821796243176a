#include "data/datasets/cyclone.h"

#include <cstdint>
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
using testing::Elements;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::Member;
using testing::NewFolder;
using testing::TarBytes;
using testing::WriteFile;

constexpr size_t kPixels = 5 * 40 * 40;

Bytes Record(uint8_t label) {
  Bytes record = Elements(kPixels);
  record.insert(record.begin(), label);
  return record;
}

std::string Archive(uint8_t test_label) {
  std::vector<Member> members = {{"cyclone-batches-bin/test_batch.bin", Record(test_label)}};
  for (int i = 1; i <= 5; ++i) {
    members.push_back(
        {"cyclone-batches-bin/data_batch_" + std::to_string(i) + ".bin", Record(uint8_t(i % 2))});
  }
  return WriteFile(NewFolder("cyclone"), "cyclone-binary.tar.gz", Gzip(TarBytes(members)));
}

TEST(CycloneTest, FiveChannelsAndTwoClasses) {
  const std::string archive = Archive(1);
  const auto dataset = LoadCyclone({archive, archive}).value();
  EXPECT_EQ(dataset->name(), "cyclone");
  EXPECT_EQ(dataset->sample(), (ImageExtents{40, 40, 5}));
  EXPECT_EQ(dataset->outputs(), 2);
  ASSERT_EQ(dataset->size(Split::kTrain), 5);
  EXPECT_EQ(dataset->size(Split::kTest), 1);
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{5, 5, 40, 40}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{5}).value();
  ASSERT_TRUE(dataset->Read(Split::kTrain, AllIndices(5), TensorFormat::kNCHW, x, targets).ok());
  const Bytes pixels = Elements(kPixels);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(targets.data<int32_t>()[i], (i + 1) % 2);
    for (size_t p = 0; p < kPixels; ++p) {
      ASSERT_EQ(x.data<float>()[i * kPixels + p], float(pixels[p]) * (1.0f / 255));
    }
  }
}

TEST(CycloneTest, AThirdClassIsRefused) {
  const std::string archive = Archive(2);
  EXPECT_THAT(std::string(LoadCyclone({archive, archive}).status().message()),
              HasSubstr("test_batch.bin: the label of record 0 is 2; expected 0 to 1"));
}

TEST(CycloneTest, MissingFilesAreListed) {
  const std::string folder = NewFolder("cyclone_empty");
  EXPECT_THAT(std::string(LoadCyclone({folder, folder}).status().message()),
              HasSubstr("cyclone-binary.tar.gz"));
}

}  // namespace
}  // namespace dtnn
