#include "data/datasets/tsunamis.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
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
using testing::NewFolder;
using testing::TarBytes;
using testing::WriteFile;

// A record with a float32 value.
Bytes Record(float value) {
  Bytes record(sizeof(value) + 80 * 80, 51);
  std::memcpy(record.data(), &value, sizeof(value));
  return record;
}

TEST(TsunamisTest, OneRealOutput) {
  const std::string path =
      WriteFile(NewFolder("tsunamis"), "tsunamis-binary.tar.gz",
                Gzip(TarBytes({{"tsunamis-batches-bin/data_batch_1.bin", Record(0.5f)},
                               {"tsunamis-batches-bin/data_batch_2.bin", Record(-3.25f)},
                               {"tsunamis-batches-bin/test_batch.bin", Record(9)}})));
  const auto dataset = LoadTsunamis({path, path}).value();
  EXPECT_EQ(dataset->sample(), (ImageExtents{80, 80, 1}));
  EXPECT_EQ(dataset->outputs(), 1);
  EXPECT_EQ(dataset->target_kind(), TargetKind::kValues);
  ASSERT_EQ(dataset->size(Split::kTrain), 2);
  const Tensor x = Tensor::Zeros(DType::kFloat64, Shape{2, 80, 80, 1}).value();
  const Tensor targets = Tensor::Zeros(DType::kFloat64, Shape{2, 1}).value();
  ASSERT_TRUE(dataset->Read(Split::kTrain, AllIndices(2), TensorFormat::kNHWC, x, targets).ok());
  EXPECT_EQ(targets.data<double>()[0], 0.5);
  EXPECT_EQ(targets.data<double>()[1], -3.25);
  EXPECT_EQ(x.data<double>()[6399], 0.2);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  EXPECT_EQ(LoadTsunamis({folder, folder}).value()->size(Split::kTrain), 2) << "which holds it";
}

TEST(TsunamisTest, AnyNumberOfTrainingFilesButOneAtLeast) {
  const std::string folder = NewFolder("tsunamis_files");
  WriteFile(folder, "test_batch.bin", Record(1));
  const std::string error(LoadTsunamis({folder, folder}).status().message());
  EXPECT_THAT(error, HasSubstr("missing: data_batch_1.bin. "));
  for (int i = 1; i <= 11; ++i) {
    WriteFile(folder, "data_batch_" + std::to_string(i) + ".bin", Record(float(i)));
    EXPECT_EQ(LoadTsunamis({folder, folder}).value()->size(Split::kTrain), i);
    EXPECT_EQ(LoadTsunamis({folder, ""}).value()->size(Split::kTrain), i);
  }
  std::filesystem::remove(folder + "/data_batch_4.bin");
  EXPECT_THAT(std::string(LoadTsunamis({folder, folder}).status().message()),
              HasSubstr("missing: data_batch_4.bin. "));
}

}  // namespace
}  // namespace dtnn
