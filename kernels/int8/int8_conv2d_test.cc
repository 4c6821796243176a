// Every level against the reference, with equality: hard sizes, and random ones with a fence beside
// every operand, the workspace and what is kept.

#include "kernels/int8/int8_conv2d.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/testing/hard_specs.h"
#include "kernels/int8/reference.h"
#include "tensor/philox.h"
#include "tools/testing/fenced.h"
#include "tools/testing/random_cases.h"

namespace dtnn {
namespace {

using testing::Fence;
using testing::FencedPitched;
using testing::FencedTensor;
using testing::RandomCase;
using testing::RandomCases;

enum class Operands {
  kDense,
  kPitched,       // y is the addend
  kPitchedInput,  // x and the addend; y is dense
};

// A convolution with random operands, and what they should give.
class Int8Runner {
 public:
  Int8Runner(const Int8Conv2dSpec& spec, uint64_t seed, bool scaled)
      : spec_(spec), random_(seed, StreamId(RandomPurpose::kTest)) {
    const Conv2dSpec& conv = spec.conv;
    x_ = Bytes(conv.InputShape());
    addend_ = Bytes(conv.OutputShape());
    filter_ = Floats(conv.FilterShape().NumElements());
    bias_ = Floats(conv.filters);
    scale_ = Floats(conv.filters);
    parameters_ = {.filter = filter_.data(),
                   .scale = scaled ? scale_.data() : nullptr,
                   .bias = conv.epilogue.bias ? bias_.data() : nullptr};
    expected_ = reference::Int8Convolution(spec, parameters_, x_.data(), addend_.data());
  }

  // Passes if a level gives what the reference gives.
  void Run(Int8Level level, Operands operands, Fence fence) const {
    const Conv2dSpec& conv = spec_.conv;
    auto made = Int8Conv2d::Create(spec_, level);
    ASSERT_TRUE(made.ok()) << made.status();
    Int8Conv2d& op = **made;
    const testing::FencedWorkspace kept(op.kept_bytes(), fence);
    const testing::FencedWorkspace workspace(op.workspace_bytes(), fence);
    op.Keep(kept.Dirty().data());
    ASSERT_EQ(op.SetParameters(parameters_), absl::OkStatus());
    const bool pitched = operands != Operands::kDense;
    const Tensor x = Filled(x_, conv.InputShape(), pitched, fence);
    const Tensor addend = Filled(addend_, conv.OutputShape(), pitched, fence);
    const DType dtype = spec_.output ? DType::kUint8 : DType::kFloat32;
    const bool pitched_y = operands == Operands::kPitched;
    const Tensor y =
        spec_.output && pitched_y ? addend : New(dtype, conv.OutputShape(), pitched_y, fence);
    const absl::Status status = op.Forward(x, addend, y, workspace);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < expected_.size(); ++i) {
      const int64_t at = int64_t(i) / conv.filters * y.PixelPitch() + int64_t(i) % conv.filters;
      const double value = spec_.output ? y.data<uint8_t>()[at] : double(y.data<float>()[at]);
      ASSERT_EQ(value, expected_[i]) << Name(level) << " " << spec_.ToString() << ", element " << i;
    }
  }

 private:
  static Tensor New(DType dtype, const Shape& shape, bool pitched, Fence fence) {
    return pitched ? FencedPitched(dtype, shape, TensorFormat::kNHWC, fence)
                   : FencedTensor(dtype, shape, fence);
  }
  static Tensor Filled(const std::vector<uint8_t>& values, const Shape& shape, bool pitched,
                       Fence fence) {
    const Tensor tensor = New(DType::kUint8, shape, pitched, fence);
    const int64_t channels = shape[3];
    for (size_t i = 0; i < values.size(); ++i) {
      tensor.data<uint8_t>()[int64_t(i) / channels * tensor.PixelPitch() + int64_t(i) % channels] =
          values[i];
    }
    return tensor;
  }
  std::vector<uint8_t> Bytes(const Shape& shape) {
    std::vector<uint8_t> bytes(size_t(shape.NumElements()));
    for (uint8_t& byte : bytes) byte = uint8_t(random_.Below(++drawn_, 256));
    return bytes;
  }
  std::vector<float> Floats(int64_t count) {
    std::vector<float> floats(size_t(count), 0.0f);
    for (float& value : floats) value = float(2 * random_.Uniform(++drawn_) - 1);
    return floats;
  }

  Int8Conv2dSpec spec_;
  Philox random_;
  uint64_t drawn_ = 0;
  std::vector<uint8_t> x_, addend_;
  std::vector<float> filter_, bias_, scale_;
  Int8Conv2dParameters parameters_;
  std::vector<double> expected_;
};

Int8Conv2dSpec WithRanges(const Conv2dSpec& conv, bool bytes) {
  Int8Conv2dSpec spec = {.conv = conv,
                         .input = {.scale = 0.02f, .zero_point = 97},
                         .addend = {.scale = 0.013f, .zero_point = 31}};
  // A scale that uses all bytes, and exceeds them now and then.
  if (bytes) spec.output = Quantization{.scale = 0.03f, .zero_point = 120};
  return spec;
}

TEST(Int8Conv2dTest, HardSizesOfEveryLevelEqualTheReference) {
  uint64_t seed = 0;
  for (Conv2dSpec conv : testing::HardConv2dSpecs()) {
    conv.epilogue = {.bias = seed % 2 == 0, .add = seed % 3 == 0, .relu = seed % 5 < 2};
    ++seed;
    Int8Conv2dSpec spec = WithRanges(conv, seed % 4 != 0);
    if (seed % 2 == 0) spec.input.zero_point = 0;  // so that padding is skipped
    const Int8Runner runner(spec, seed, seed % 7 == 0);
    for (const Int8Level level : Int8Levels()) {
      runner.Run(level, Operands(seed % 3), Fence::kBehind);
      if (HasFatalFailure()) return;
    }
  }
}

// Whose blocks are the same place of several images.
TEST(Int8Conv2dTest, SmallMapsOfManyImagesEqualTheReference) {
  struct Sizes {
    int64_t batch, extent, filters, stride, dilation, zero_point;
  };
  uint64_t seed = 0;
  for (const Sizes& sizes : std::initializer_list<Sizes>{{70, 2, 20, 1, 1, 97},
                                                         {33, 4, 18, 2, 1, 97},
                                                         {64, 3, 33, 1, 2, 97},
                                                         {31, 1, 3, 1, 1, 97},
                                                         {70, 2, 20, 1, 1, 0},
                                                         {33, 4, 18, 2, 1, 0},
                                                         {17, 9, 33, 1, 2, 0},
                                                         {31, 1, 3, 1, 1, 0}}) {
    Conv2dSpec conv;
    conv.batch = sizes.batch, conv.height = sizes.extent, conv.width = sizes.extent + 1;
    conv.channels = 64, conv.filters = sizes.filters;
    conv.stride = sizes.stride, conv.dilation = sizes.dilation, conv.padding = sizes.dilation;
    conv.epilogue = {.bias = true, .add = true, .relu = false};
    Int8Conv2dSpec spec = WithRanges(conv, true);
    spec.input.zero_point = int32_t(sizes.zero_point);
    const Int8Runner runner(spec, ++seed, false);
    for (const Int8Level level : Int8Levels()) {
      runner.Run(level, Operands(seed % 3), Fence::kBehind);
      if (HasFatalFailure()) return;
    }
  }
}

// Panels without gaps, which kernels may write from registers, in every order of blocks: rows, maps
// that run on, the same place of many images, pixels where they are.
TEST(Int8Conv2dTest, WholePanelsEqualTheReference) {
  struct Sizes {
    int64_t batch, extent;
    Pair kernel;
  };
  uint64_t seed = 0;
  for (const Sizes& sizes : std::initializer_list<Sizes>{
           {2, 14, Pair(3)}, {2, 7, Pair(3, 1)}, {33, 2, Pair(3)}, {3, 5, Pair(1)}}) {
    for (const bool bytes : {true, false}) {
      for (const bool add : {true, false}) {
        Conv2dSpec conv;
        conv.batch = sizes.batch, conv.height = conv.width = sizes.extent;
        conv.channels = 64, conv.filters = 48, conv.kernel = sizes.kernel;
        conv.padding = Pair(sizes.kernel.vertical / 2, sizes.kernel.horizontal / 2);
        conv.epilogue = {.bias = true, .add = add, .relu = ++seed % 3 == 0};
        const Int8Runner runner(WithRanges(conv, bytes), seed, false);
        for (const Int8Level level : Int8Levels()) {
          for (const Operands operands : {Operands::kPitched, Operands::kPitchedInput}) {
            runner.Run(level, operands, Fence::kBehind);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// A filter of one tap without a stride reads pixels of whole steps where they are.
TEST(Int8Conv2dTest, PixelsThatAreNotCopiedMayBePitched) {
  for (const int64_t channels : {64, 128}) {
    for (const Operands operands :
         {Operands::kDense, Operands::kPitched, Operands::kPitchedInput}) {
      Conv2dSpec conv;
      conv.batch = 3, conv.height = 9, conv.width = 10;
      conv.channels = channels, conv.filters = 37, conv.kernel = 1;
      conv.epilogue = {.bias = true, .add = true, .relu = true};
      const Int8Runner runner(WithRanges(conv, true), uint64_t(channels), true);
      for (const Int8Level level : Int8Levels()) {
        runner.Run(level, operands, Fence::kBehind);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Int8Conv2dTest, RandomSizesOfEveryLevelEqualTheReference) {
  for (RandomCases cases(60); RandomCase* random = cases.Next();) {
    Conv2dSpec conv;
    do {
      conv = Conv2dSpec();
      conv.batch = random->Between(1, random->Seldom(4) ? 40 : 3);
      conv.height = random->Between(1, 12);
      conv.width = random->Between(1, random->Seldom(4) ? 50 : 12);
      conv.channels = random->Flip() ? random->Between(1, 80) : 64 * random->Between(1, 2);
      conv.filters = random->Flip() ? random->Between(1, 90) : 16 * random->Between(1, 5);
      if (random->Seldom(4)) {
        conv.groups = random->Between(1, 5);
        conv.channels = conv.groups * random->Between(1, 6);
        conv.filters = conv.groups * random->Between(1, 20);
      } else if (random->Seldom(4)) {
        conv.groups = conv.filters = conv.channels;
      }
      conv.kernel =
          random->Seldom(3) ? Pair(1) : Pair(random->Between(1, 4), random->Between(1, 4));
      if (random->Flip()) conv.padding = Pair(random->Between(0, 4), random->Between(0, 4));
      if (random->Seldom(3)) conv.stride = Pair(random->Between(1, 4), random->Between(1, 4));
      if (random->Seldom(4)) conv.dilation = Pair(random->Between(1, 3), random->Between(1, 3));
    } while (!conv.Validate().ok() || conv.Flops() > 2e6);
    conv.epilogue = {.bias = random->Flip(), .add = random->Flip(), .relu = random->Flip()};
    Int8Conv2dSpec spec = WithRanges(conv, !random->Seldom(4));
    spec.input.zero_point = random->Flip() ? 0 : int32_t(random->Between(0, 255));
    spec.addend.zero_point = int32_t(random->Between(0, 255));
    const auto levels = Int8Levels();
    const Int8Level level = random->PickFrom(levels);
    random->Name(std::string(Name(level)) + " " + spec.ToString());
    random->SetThreads();
    Int8Runner(spec, uint64_t(random->Between(1, 1000)), random->Flip())
        .Run(level, Operands(random->Between(0, 2)),
             random->Flip() ? Fence::kBehind : Fence::kBefore);
  }
}

// The largest products that there are, in an even number, which would saturate 16 bits.
TEST(Int8Conv2dTest, NothingSaturates) {
  Conv2dSpec conv;
  conv.batch = 1, conv.height = conv.width = 1, conv.channels = 65536, conv.filters = 17;
  conv.kernel = 1;
  const std::vector<float> filter(size_t(65536) * 17, 1.0f);
  const Int8Conv2dSpec spec = {.conv = conv, .input = {.scale = 1}, .addend = {}, .output = {}};
  for (const Int8Level level : Int8Levels()) {
    auto op = *Int8Conv2d::Create(spec, level);
    const testing::FencedWorkspace kept(op->kept_bytes()), workspace(op->workspace_bytes());
    op->Keep(kept.Dirty().data());
    ASSERT_EQ(op->SetParameters({.filter = filter.data()}), absl::OkStatus());
    const Tensor x = FencedTensor(DType::kUint8, conv.InputShape());  // all 255
    const Tensor y = FencedTensor(DType::kFloat32, conv.OutputShape());
    ASSERT_EQ(op->Forward(x, Tensor(), y, workspace), absl::OkStatus());
    EXPECT_EQ(y.data<float>()[16], float(65536.0 * 255 * 127 * double(1.0f / 127)));
  }
}

// Made for a larger batch, and for another number of threads.
TEST(Int8Conv2dTest, ASmallerBatchGivesTheSame) {
  Conv2dSpec conv;
  conv.batch = 9, conv.height = conv.width = 5, conv.channels = 64, conv.filters = 40;
  for (const int64_t kernel : {1, 3}) {
    conv.kernel = kernel;
    const std::vector<float> filter(size_t(conv.FilterShape().NumElements()), 0.5f);
    for (const Int8Level level : Int8Levels()) {
      const Int8Conv2dSpec spec = {.conv = conv, .input = {.scale = 0.1f, .zero_point = 3}};
      auto op = *Int8Conv2d::Create(spec, level);
      const testing::FencedWorkspace kept(op->kept_bytes()), workspace(op->workspace_bytes());
      op->Keep(kept.Dirty().data());
      ASSERT_EQ(op->SetParameters({.filter = filter.data()}), absl::OkStatus());
      Conv2dSpec two = conv;
      two.batch = 2;
      const Tensor x = FencedTensor(DType::kUint8, two.InputShape());
      const Tensor y = FencedTensor(DType::kFloat32, two.OutputShape());
      ASSERT_EQ(op->Forward(x, Tensor(), y, workspace), absl::OkStatus());
      const auto products = double(64 * kernel * kernel);
      for (int64_t i = 0; i < y.num_elements(); ++i) {
        ASSERT_NEAR(double(y.data<float>()[i]), products * 25.2 * 0.5, 1e-3 * products);
      }
    }
  }
}

// A product of infinity and 0 would be a NaN, which has no byte.
TEST(Int8Conv2dTest, ScalesThatAreTooLargeAreRefused) {
  Conv2dSpec conv;
  conv.batch = conv.height = conv.width = conv.channels = conv.filters = 1, conv.kernel = 1;
  const float filter = 1e38f, scale = 1e30f;
  auto op = *Int8Conv2d::Create({.conv = conv, .input = {.scale = 1}});
  const testing::FencedWorkspace kept(op->kept_bytes());
  op->Keep(kept.Dirty().data());
  EXPECT_EQ(op->SetParameters({.filter = &filter, .scale = &scale}),
            absl::InvalidArgumentError("the scales of filter 0 are too large for the result's"));
}

TEST(Int8Conv2dTest, RefusalsSayWhatIsWrong) {
  Conv2dSpec conv;
  conv.batch = 1, conv.height = conv.width = 4, conv.channels = 65536, conv.filters = 2;
  const auto error = [](const Int8Conv2dSpec& spec) {
    return std::string(Int8Conv2d::Create(spec).status().message());
  };
  EXPECT_EQ(error({.conv = conv}),
            "convolution in 8 bits: a result of 589824 products may exceed 32 bits; the most are "
            "65536");
  conv.channels = 1;
  conv.format = TensorFormat::kNCHW;
  EXPECT_EQ(error({.conv = conv}), "convolution in 8 bits: images must be NHWC, not NCHW");
  conv.format = TensorFormat::kNHWC;
  conv.epilogue.bias = true;
  auto op = *Int8Conv2d::Create({.conv = conv});
  const testing::FencedWorkspace kept(op->kept_bytes());
  op->Keep(kept.Dirty().data());
  std::vector<float> filter(18, 1.0f), bias(2, 0.0f);
  filter[3] = NAN;
  EXPECT_EQ(op->SetParameters({.filter = filter.data(), .bias = bias.data()}).message(),
            "a weight of filter 1 is NaN or infinite");
  filter[3] = 0;
  bias[1] = INFINITY;
  EXPECT_EQ(op->SetParameters({.filter = filter.data(), .bias = bias.data()}).message(),
            "the bias of filter 1 is NaN, infinite or too large");
  const Tensor y = FencedTensor(DType::kFloat32, conv.OutputShape());
  EXPECT_FALSE(op->Forward(FencedTensor(DType::kFloat32, conv.InputShape()), Tensor(), y, {}).ok());
  EXPECT_FALSE(op->Forward(Tensor(), Tensor(), y, {}).ok());
}

}  // namespace
}  // namespace dtnn
