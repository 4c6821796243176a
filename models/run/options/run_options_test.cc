#include "models/run/options/run_options.h"

#include "comm/ranks/job/exit_code.h"
#include "data/datasets/mnist.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(OptionsTest, BatchSizeIs64UnlessGiven) {
  RunOptions options;
  EXPECT_EQ(BatchSizePerRank(options, 3).value(), 64);
  options.training.batch = 5;
  EXPECT_EQ(BatchSizePerRank(options, 3).value(), 5);
}

TEST(OptionsTest, GlobalBatchSizeIsSharedOutEvenlyOrRefused) {
  RunOptions options;
  options.training.global_batch = 12;
  EXPECT_EQ(BatchSizePerRank(options).value(), 12);
  EXPECT_EQ(BatchSizePerRank(options, 4).value(), 3);
  EXPECT_EQ(ExitCodeOf(BatchSizePerRank(options, 5).status()), kExitUsage);
  EXPECT_EQ(ExitCodeOf(BatchSizePerRank(options, 24).status()), kExitUsage);
}

TEST(OptionsTest, TheFormatIsTheFastestUnlessItIsNamed) {
  struct Case {
    bool gpu;
    MathMode math_mode;
    DType dtype;
    TensorFormat fastest;
  };
  for (const auto& [gpu, math_mode, dtype, fastest] :
       {Case{false, MathMode::kFp32, DType::kFloat32, TensorFormat::kNHWC},
        Case{false, MathMode::kBf16, DType::kFloat32, TensorFormat::kNHWC},
        Case{true, MathMode::kFp32, DType::kFloat32, TensorFormat::kNCHW},
        Case{true, MathMode::kFp32, DType::kFloat64, TensorFormat::kNCHW},
        Case{true, MathMode::kTf32, DType::kFloat32, TensorFormat::kNHWC},
        Case{true, MathMode::kBf16, DType::kFloat32, TensorFormat::kNHWC},
        Case{true, MathMode::kFp16, DType::kFloat32, TensorFormat::kNHWC}}) {
    RunOptions options;
    options.device.gpu = gpu, options.device.math_mode = math_mode, options.network.dtype = dtype;
    EXPECT_EQ(FormatOf(options), fastest) << gpu << Name(math_mode) << Name(dtype) << ", not given";
    options.network.format = "AUTO";
    EXPECT_EQ(FormatOf(options), fastest) << gpu << Name(math_mode) << Name(dtype) << ", AUTO";
    options.network.format = "NHWC";
    EXPECT_EQ(FormatOf(options), TensorFormat::kNHWC) << gpu << Name(math_mode);
    options.network.format = "NCHW";
    EXPECT_EQ(FormatOf(options), TensorFormat::kNCHW) << gpu << Name(math_mode);
  }
}

TEST(OptionsTest, PartsAreCountedUpToAMillion) {
  const auto part = [](const std::string& text) {
    RunOptions options;
    options.data.part = text;
    return DatasetPartOf(options);
  };
  EXPECT_EQ(part("1000000/1000000")->part, 1000000);
  EXPECT_EQ(part("1/1")->parts, 1);
  for (const char* text : {"1/1000001", "0/1", "2/1", "-1/1", "1", "1/", "/1", "1/2/3"}) {
    EXPECT_EQ(ExitCodeOf(part(text).status()), kExitUsage) << text;
  }
}

TEST(OptionsTest, BucketsHaveUpToAMillionMegabytes) {
  const auto bytes = [](const std::string& text) {
    RunOptions options;
    options.sync.bucket_mb = text;
    return BucketBytes(options);
  };
  EXPECT_EQ(*bytes("auto"), 0);
  EXPECT_EQ(*bytes("0.5"), 524288);
  EXPECT_EQ(*bytes("1e-9"), 1);
  EXPECT_EQ(*bytes("1e6"), int64_t{1000000} << 20);
  for (const char* text : {"0", "-1", "1000000.1", "nan", "inf", ""}) {
    EXPECT_EQ(ExitCodeOf(bytes(text).status()), kExitUsage) << text;
  }
}

TEST(OptionsTest, ElementTypeFollowsDtype) {
  RunOptions options;
  EXPECT_EQ(ElementTypeOf(options), DType::kFloat32);
  options.network.dtype = DType::kFloat64;
  EXPECT_EQ(ElementTypeOf(options), DType::kFloat64);
}

TEST(OptionsTest, PathOfAPartOutranksTheCommonPath) {
  RunOptions options;
  EXPECT_EQ(TrainPath(options), "");
  options.data.name = "mnist";
  EXPECT_EQ(TrainPath(options), kFashionMnistPath);
  options.data.path = "both";
  options.data.test_path = "test";
  EXPECT_EQ(TrainPath(options), "both");
  EXPECT_EQ(TestPath(options), "test");
}

TEST(OptionsTest, ADefaultPathStandsBesideNoOther) {
  RunOptions options;
  options.data.name = "mnist";
  options.data.train_path = "train";
  EXPECT_EQ(TrainPath(options), "train");
  EXPECT_EQ(TestPath(options), "");
}

TEST(OptionsTest, TestingReadsTrainingDataOnlyForTheirStatistics) {
  RunOptions options;
  EXPECT_TRUE(ReadsTraining(options));
  options.training.evaluate_only = true;
  EXPECT_FALSE(ReadsTraining(options));
  options.data.standardize = true;
  EXPECT_TRUE(ReadsTraining(options));
}

}  // namespace
}  // namespace dtnn
