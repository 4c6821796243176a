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

TEST(OptionsTest, TheFormatIsTheFastestUnlessItIsNamed) {
  struct Case {
    bool gpu;
    std::string_view math_mode, dtype;
    TensorFormat fastest;
  };
  for (const auto& [gpu, math_mode, dtype, fastest] :
       {Case{false, "fp32", "float32", TensorFormat::kNHWC},
        Case{false, "bf16", "float32", TensorFormat::kNHWC},
        Case{true, "fp32", "float32", TensorFormat::kNCHW},
        Case{true, "fp32", "float64", TensorFormat::kNCHW},
        Case{true, "tf32", "float32", TensorFormat::kNHWC},
        Case{true, "bf16", "float32", TensorFormat::kNHWC},
        Case{true, "fp16", "float32", TensorFormat::kNHWC}}) {
    Options options;
    options.enable_gpu = gpu, options.math_mode = math_mode, options.dtype = dtype;
    EXPECT_EQ(FormatOf(options), fastest) << gpu << math_mode << dtype << ", not given";
    options.tensor_format = "AUTO";
    EXPECT_EQ(FormatOf(options), fastest) << gpu << math_mode << dtype << ", AUTO";
    options.tensor_format = "NHWC";
    EXPECT_EQ(FormatOf(options), TensorFormat::kNHWC) << gpu << math_mode;
    options.tensor_format = "NCHW";
    EXPECT_EQ(FormatOf(options), TensorFormat::kNCHW) << gpu << math_mode;
  }
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
