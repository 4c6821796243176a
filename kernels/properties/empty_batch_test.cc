// Every primitive that takes a batch takes one without samples: it writes nothing, and gradients of
// parameters are 0, or what they were.

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/add/add.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/bias/bias.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/prelu/prelu.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"
#include "tensor/philox.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::ComputesAll;
using testing::Conv2dRunner;
using testing::OnesTensor;
using testing::Values;
using testing::WhereSupported;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

class EmptyBatchTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  TensorFormat format() const { return GetParam(); }
  static Tensor Ones(const Shape& shape) { return OnesTensor(DType::kFloat32, shape); }
  static Tensor Zeros(const Shape& shape) { return ZeroTensor(DType::kFloat32, shape); }
  // No images of 4 x 4, or 4 x `width`, with as many channels.
  Tensor Images(int64_t channels, DType dtype = DType::kFloat32, int64_t width = 4) const {
    return ZeroTensor(dtype, SampleShape({4, width, channels}, format()).Prepend(0));
  }
  static void Ok(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  static testing::FencedWorkspace Memory(size_t bytes) { return testing::FencedWorkspace(bytes); }
  Conv2dSpec Convolution(int64_t filters, DType dtype) const {
    Conv2dSpec spec;
    spec.batch = 3, spec.height = 4, spec.width = 8, spec.channels = 8, spec.filters = filters;
    spec.padding = 1;
    spec.format = format(), spec.dtype = dtype;
    return spec;
  }
  void ExpectConvolution(Conv2dRunner& runner, const Conv2dSpec& spec, const Shape& filter) {
    const auto ones = [&](const Shape& shape) { return OnesTensor(spec.dtype, shape); };
    const Tensor x = Images(spec.channels, spec.dtype, spec.width);
    const Tensor y = Images(spec.filters, spec.dtype, spec.width);
    const Tensor w = ones(filter);
    runner.Forward(x, w, y);
    runner.BackwardData(y, w, x);
    const Tensor dw = ones(filter), dbias = ones({spec.filters});
    runner.BackwardFilter(x, y, dw, dbias, /*accumulate=*/true);
    EXPECT_EQ(Values(dw), Values(ones(filter)));
    EXPECT_EQ(Values(dbias), Doubles(size_t(spec.filters), 1));
    runner.BackwardFilter(x, y, dw, dbias, /*accumulate=*/false);
    EXPECT_EQ(Values(dw), Values(Zeros(filter)));
    EXPECT_EQ(Values(dbias), Doubles(size_t(spec.filters), 0));
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(EmptyBatchTest, Convolution) {
  std::set<std::string_view> seen, able;  // that have computed all directions, or could
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int64_t filters : {4, 16, 33}) {  // planes, whole vectors, and not
      const Conv2dSpec spec = Convolution(filters, dtype);
      for (const std::string_view variant : Conv2dVariantNames()) {
        Conv2dRunner runner(spec, WhereSupported(variant, spec));
        ExpectConvolution(runner, spec, spec.FilterShape());
        if (ComputesAll(variant, spec)) able.insert(variant);
        if (std::ranges::all_of(conv::kDirections, [&](conv::Direction direction) {
              return runner.conv().variant(direction) == variant;
            })) {
          seen.insert(variant);
        }
      }
    }
  }
  EXPECT_GE(able.size(), 4);
  EXPECT_EQ(seen, able);
}

// By itself, and other variants once for each group.
TEST_P(EmptyBatchTest, DepthwiseConvolution) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Conv2dSpec spec = Convolution(8, dtype);
    spec.groups = 8;
    for (const std::string_view variant : Conv2dVariantNames()) {
      Conv2dRunner runner(spec, WhereSupported(variant, spec));
      ExpectConvolution(runner, spec, spec.FilterShape());
    }
  }
}

TEST_P(EmptyBatchTest, Pooling) {
  const Tensor x = Images(3);
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const int64_t window : {2, 3}) {
      PoolSpec spec = {.kind = kind, .batch = 2, .height = 4, .width = 4, .channels = 3};
      spec.window = window;
      spec.format = format();
      const auto pool = *CreatePool(*context_, spec);
      const Tensor y = Zeros(spec.OutputShape().DropFirst().Prepend(0));
      const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), y.shape());
      Ok(pool->Forward(x, y, argmax));
      Ok(pool->Backward(y, argmax, x, false));
    }
  }
  const AdaptivePoolSpec spec = {.batch = 2,
                                 .height = 4,
                                 .width = 4,
                                 .channels = 3,
                                 .out_height = 1,
                                 .out_width = 1,
                                 .format = format()};
  const auto pool = *CreateAdaptivePool(*context_, spec);
  const Tensor y = Zeros(spec.OutputShape().DropFirst().Prepend(0));
  Ok(pool->Forward(x, y));
  Ok(pool->Backward(y, x, false));
}

TEST_P(EmptyBatchTest, ChannelPick) {
  const auto pick = *CreateChannelPick(
      *context_, {.channels = 6, .begin = 2, .count = 4, .groups = 2, .format = format()});
  Ok(pick->Forward(Images(6), Images(4)));
  Ok(pick->Backward(Images(4), Images(6), true));
}

TEST_P(EmptyBatchTest, Resize) {
  const Tensor x = Images(3);
  const ResizeSpec spec = {.batch = 2,
                           .height = 4,
                           .width = 4,
                           .channels = 3,
                           .out_height = 8,
                           .out_width = 8,
                           .format = format()};
  const auto resize = *CreateResize(*context_, spec);
  const Tensor y = Zeros(spec.OutputShape().DropFirst().Prepend(0));
  Ok(resize->Forward(x, y));
  Ok(resize->Backward(y, x, false));
}

TEST_P(EmptyBatchTest, BatchNormalisation) {
  const BatchNormSpec spec = {
      .batch = 2, .positions = 16, .channels = 3, .format = format(), .relu = true};
  const auto norm = *CreateBatchNorm(*context_, spec);
  const testing::FencedWorkspace memory = Memory(norm->workspace_bytes());
  const Tensor x = Images(3), double_ones = OnesTensor(DType::kFloat64, {3});
  const BatchStatistics statistics = {double_ones, double_ones};
  const BatchNormParameters parameters = {{Ones({3}), 1}, {Ones({3}), 1}};
  const RunningStatistics running = {{Ones({3}), 1}, {Ones({3}), 1}};
  const BatchNormGradients gradients = {Ones({3}), Ones({3})};
  Ok(norm->Apply(x, statistics, parameters, Tensor(), x, memory));
  Ok(norm->Infer(x, parameters, running, Tensor(), x, memory));
  Ok(norm->Gradients(x, Tensor(), x, statistics, parameters, gradients, memory));
  EXPECT_EQ(Values(gradients.gamma), Doubles(3, 0));
  EXPECT_EQ(Values(gradients.beta), Doubles(3, 0));
  Ok(norm->BackwardData(x, x, statistics, parameters, gradients, 7, x, false, memory));
  EXPECT_FALSE(norm->Statistics(x, statistics, memory).ok()) << "the mean of nothing";
}

TEST_P(EmptyBatchTest, Elementwise) {
  const Tensor x = Images(3), y = Images(3);
  for (const ActivationKind kind : kActivationKinds) {
    const auto activation = *CreateActivation(*context_, {.kind = kind, .format = format()});
    Ok(activation->Forward(x, y));
    Ok(activation->Backward(y, x, x, true));
  }
  const auto prelu = *CreatePRelu(*context_, {.channels = 3, .format = format()});
  const Tensor slopes = Ones({3});
  Ok(prelu->Forward(x, slopes, y));
  Ok(prelu->Backward(x, slopes, y, x, true));
  Ok(prelu->SlopeGradient(x, y, slopes));
  EXPECT_EQ(Values(slopes), Doubles(3, 0));
  const auto scale = *CreateChannelScale(*context_, {.format = format()});
  const Tensor factors = Zeros(SampleShape({1, 1, 3}, format()).Prepend(0));
  Ok(scale->Multiply(x, factors, y, true));
  Ok(scale->Reduce(x, y, factors, false));
  const std::vector<Tensor> inputs = {x, x, x};
  Ok((*CreateAdd(*context_, {.format = format()}))->Run(inputs, y, true));
  const Philox stream(1, StreamId(RandomPurpose::kDropout, 1));
  Ok((*CreateDropout(*context_, {.format = format()}))->Run(x, stream, 0, y, true));
}

TEST_P(EmptyBatchTest, BiasAndConcatenation) {
  const Tensor x = Images(3), dbias = Ones({3});
  const auto bias = *CreateBias(*context_, {.channels = 3, .format = format()});
  Ok(bias->Forward(x, dbias, x));
  Ok(bias->Backward(x, dbias, true));
  EXPECT_EQ(Values(dbias), Doubles(3, 1));
  Ok(bias->Backward(x, dbias, false));
  EXPECT_EQ(Values(dbias), Doubles(3, 0));
  const auto concat = *CreateConcat(*context_, {.format = format()});
  const std::vector<Tensor> parts = {x, x};
  Ok(concat->Forward(parts, Images(6)));
  Ok(concat->Backward(Images(6), parts, std::array{true, false}));
}

TEST_P(EmptyBatchTest, Matrices) {
  const Tensor x = Zeros({0, 5}), y = Zeros({0, 5}), losses = Zeros({0});
  const auto softmax = *CreateSoftmax(*context_, {.rows = 2, .columns = 5});
  Ok(softmax->Forward(x, y));
  Ok(softmax->Backward(y, x, x, true));
  const auto loss = *CreateSoftmaxCrossEntropy(*context_, {.rows = 2, .columns = 5});
  Ok(loss->Run(x, ZeroTensor(DType::kInt32, {0}), y, losses, x, 1));
  for (const std::string_view variant : {"tile", "blis"}) {
    const auto product = *CreateGemm(*context_, {.m = 2, .n = 4, .k = 5}, variant);
    Ok(product->Run(x, Ones({5, 4}), Zeros({0, 4}), {}, Memory(product->workspace_bytes())));
    // The gradient of the weights: a sum over no samples.
    const GemmSpec spec = {.m = 5, .n = 4, .k = 2, .transpose_a = true};
    const auto gradient = *CreateGemm(*context_, spec, variant);
    const Tensor dw = Ones({5, 4});
    Ok(gradient->Run(x, Zeros({0, 4}), dw, {}, Memory(gradient->workspace_bytes())));
    EXPECT_EQ(Values(dw), Doubles(20, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(, EmptyBatchTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
