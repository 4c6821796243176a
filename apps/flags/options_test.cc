#include "apps/flags/options.h"

#include "comm/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(OptionsTest, BatchSizeIs64UnlessGiven) {
  Options options;
  EXPECT_EQ(BatchSizePerRank(options, 3).value(), 64);
  options.batch_size = 5;
  EXPECT_EQ(BatchSizePerRank(options, 3).value(), 5);
}

TEST(OptionsTest, GlobalBatchSizeIsSharedOutEvenlyOrRefused) {
  Options options;
  options.global_batch_size = 12;
  EXPECT_EQ(BatchSizePerRank(options).value(), 12);
  EXPECT_EQ(BatchSizePerRank(options, 4).value(), 3);
  EXPECT_EQ(ExitCodeOf(BatchSizePerRank(options, 5).status()), kExitUsage);
  EXPECT_EQ(ExitCodeOf(BatchSizePerRank(options, 24).status()), kExitUsage);
}

TEST(OptionsTest, AutomaticFormatFollowsTheDevice) {
  Options options;
  EXPECT_EQ(FormatOf(options), TensorFormat::kNHWC);
  options.tensor_format = "AUTO";
  EXPECT_EQ(FormatOf(options), TensorFormat::kNHWC);
  options.enable_gpu = true;
  EXPECT_EQ(FormatOf(options), TensorFormat::kNCHW);
  options.tensor_format = "NHWC";
  EXPECT_EQ(FormatOf(options), TensorFormat::kNHWC);
  options.tensor_format = "NCHW";
  EXPECT_EQ(FormatOf(options), TensorFormat::kNCHW);
}

TEST(OptionsTest, ElementTypeFollowsDtype) {
  Options options;
  EXPECT_EQ(ElementTypeOf(options), DType::kFloat32);
  options.dtype = "float64";
  EXPECT_EQ(ElementTypeOf(options), DType::kFloat64);
}

TEST(OptionsTest, PathOfAPartOutranksTheCommonPath) {
  Options options;
  EXPECT_EQ(TrainPath(options), "");
  options.dataset = "mnist";
  EXPECT_EQ(TrainPath(options), kFashionMnistPath);
  options.dataset_path = "both";
  options.dataset_test_path = "test";
  EXPECT_EQ(TrainPath(options), "both");
  EXPECT_EQ(TestPath(options), "test");
}

TEST(OptionsTest, ADefaultPathStandsBesideNoOther) {
  Options options;
  options.dataset = "mnist";
  options.dataset_train_path = "train";
  EXPECT_EQ(TrainPath(options), "train");
  EXPECT_EQ(TestPath(options), "");
}

TEST(OptionsTest, TestingReadsTrainingDataOnlyForTheirStatistics) {
  Options options;
  EXPECT_TRUE(ReadsTraining(options));
  options.evaluate_only = true;
  EXPECT_FALSE(ReadsTraining(options));
  options.standardize = true;
  EXPECT_TRUE(ReadsTraining(options));
}

}  // namespace
}  // namespace dtnn
