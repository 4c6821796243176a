// As refusals_test.cc, for the primitives that take images alone, in both formats.

#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cast/cast.h"
#include "kernels/channel_scale/channel_scale.h"
#include "kernels/channel_softmax/channel_softmax.h"
#include "kernels/device/context.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/image_slice/image_slice.h"
#include "kernels/int8/int8_conv2d.h"
#include "kernels/pad/pad.h"
#include "kernels/pixel_loss/pixel_loss.h"
#include "kernels/pixel_product/pixel_product.h"
#include "kernels/testing/device_workspace.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/fenced.h"
#include "tools/testing/refusals.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::CheckedOperand;
using testing::ExpectRefusals;
using testing::ExpectWorkspaceOf;
using testing::FencedWorkspace;
using testing::Put;
using testing::ZeroTensor;

constexpr DType kFloat = DType::kFloat32;

class RefusalsOfImagesTest : public ::testing::TestWithParam<std::tuple<TensorFormat, Device>> {
 protected:
  TensorFormat format() const { return std::get<0>(GetParam()); }
  Device device() const { return std::get<1>(GetParam()); }
  void TearDown() override { EXPECT_EQ(context_->Synchronize(), absl::OkStatus()); }
  Tensor Zeros(const Shape& shape, DType dtype = kFloat) const {
    const Tensor host = ZeroTensor(dtype, shape);
    return device().is_cpu() ? host : Put(*context_, host);
  }
  // Two images.
  Tensor Images(const ImageExtents& image) const {
    return Zeros(SampleShape(image, format()).Prepend(2));
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(device());
};

TEST_P(RefusalsOfImagesTest, ChannelScale) {
  const auto primitive = *CreateChannelScale(*context_, {.format = format()});
  Tensor x = Images({5, 6, 3}), y = Images({5, 6, 3}), factors = Images({1, 1, 3});
  const std::vector<CheckedOperand> operands = {{"x", &x}, {"y", &y}, {"factors", &factors}};
  ExpectRefusals(operands, [&] { return primitive->Multiply(x, factors, y, true); });
  ExpectRefusals(operands, [&] { return primitive->Reduce(x, y, factors, false); });
}

TEST_P(RefusalsOfImagesTest, ChannelSoftmax) {
  const auto primitive =
      *CreateChannelSoftmax(*context_, {.channels = 4, .format = format(), .groups = 2});
  Tensor x = Images({5, 6, 4}), y = Images({5, 6, 4}), dy = Images({5, 6, 4});
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dx", &x}, {"y", &y}, {"dy", &dy}},
                 [&] { return primitive->Backward(y, dy, x, true); });
}

TEST_P(RefusalsOfImagesTest, GroupNorm) {
  const auto primitive = *CreateGroupNorm(
      *context_, {.batch = 2, .positions = 30, .channels = 4, .groups = 2, .format = format()});
  const testing::DeviceWorkspace memory(device(), primitive->workspace_bytes());
  Tensor x = Images({5, 6, 4}), dy = Images({5, 6, 4}), y = Images({5, 6, 4});
  Tensor gamma = Zeros({4}), beta = Zeros({4});
  Tensor dgamma = Zeros({4}), dbeta = Zeros({4});
  ExpectRefusals({{"x", &x}, {"gamma", &gamma}, {"beta", &beta}, {"y", &y}},
                 [&] { return primitive->Forward(x, gamma, beta, y); });
  const auto backward = [&](Workspace given) {
    return primitive->Backward(x, dy, gamma, y, true, dgamma, dbeta, given);
  };
  // Both gradients of vectors are wanted, or none.
  ExpectRefusals({{"x", &x},
                  {"dy", &dy},
                  {"gamma", &gamma},
                  {"dx", &y, /*optional=*/true},
                  {"dgamma", &dgamma},
                  {"dbeta", &dbeta}},
                 [&] { return backward(memory); });
  memory.ExpectNeeded(backward);
  dgamma = dbeta = Tensor();
  EXPECT_EQ(backward(memory), absl::OkStatus());
}

TEST_P(RefusalsOfImagesTest, Pad) {
  const PadSpec spec = {
      .image = {5, 6, 3}, .top = 1, .bottom = 2, .left = 3, .right = 4, .format = format()};
  const auto primitive = *CreatePad(*context_, spec);
  Tensor x = Images(spec.image), y = Images(spec.output());
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dy", &y}, {"dx", &x}}, [&] { return primitive->Backward(y, x, false); });
}

TEST_P(RefusalsOfImagesTest, ImageSlice) {
  const ImageSliceSpec spec = {
      .image = {5, 6, 3}, .begin = {1, 0}, .count = {2, 3}, .step = 2, .format = format()};
  const auto primitive = *CreateImageSlice(*context_, spec);
  Tensor x = Images(spec.image), y = Images(spec.output());
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dy", &y}, {"dx", &x}}, [&] { return primitive->Backward(y, x, false); });
}

TEST_P(RefusalsOfImagesTest, PixelLoss) {
  for (const bool from_logits : {false, true}) {
    const PixelLossSpec spec = {
        .images = 2, .image = {5, 6, 3}, .format = format(), .from_logits = from_logits};
    const auto primitive = *CreatePixelLoss(*context_, spec);
    Tensor x = Images(spec.image), probabilities = Images(spec.image), dx = Images(spec.image);
    Tensor labels = Zeros({2, 5, 6}, DType::kInt32), losses = Zeros({2});
    std::vector<CheckedOperand> operands = {
        {"x", &x}, {"labels", &labels}, {"losses", &losses}, {"dx", &dx, /*optional=*/true}};
    if (from_logits) operands.push_back({"probabilities", &probabilities});
    ExpectRefusals(operands,
                   [&] { return primitive->Run(x, labels, probabilities, losses, dx, 1); });
  }
}

TEST_P(RefusalsOfImagesTest, PixelProduct) {
  const PixelProductSpec spec = {.x = {3, 2, 4}, .y = {2, 4, 4}, .heads = 2, .format = format()};
  const auto primitive = *CreatePixelProduct(*context_, spec);
  const testing::DeviceWorkspace memory(device(), primitive->workspace_bytes());
  Tensor x = Images(spec.x), y = Images(spec.y), s = Images(spec.s());
  const std::vector<CheckedOperand> operands = {{"x", &x}, {"y", &y}, {"s", &s}};
  const auto check = [&](auto call) {
    ExpectRefusals(operands, [&] { return call(memory); });
    memory.ExpectNeeded(call);
  };
  check([&](Workspace given) { return primitive->Scores(x, y, s, false, given); });
  check([&](Workspace given) { return primitive->Weigh(s, y, x, true, given); });
  check([&](Workspace given) { return primitive->Gather(s, x, y, false, given); });
}

INSTANTIATE_TEST_SUITE_P(
    , RefusalsOfImagesTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(Device::Cpu(), Device::Simulated(0))));

TEST(RefusalsTest, Cast) {
  const auto context = *DeviceContext::Create(Device::Cpu());
  for (const auto& [from, to] :
       {std::pair(kFloat, DType::kBfloat16), std::pair(DType::kBfloat16, kFloat)}) {
    const auto primitive = *CreateCast(*context, from, to);
    Tensor x = ZeroTensor(from, {3, 4}), y = ZeroTensor(to, {3, 4});
    ExpectRefusals({{"x", &x, false, false}, {"y", &y, false, false}},
                   [&] { return primitive->Run(x, y); });
  }
  for (const auto& [from, to] :
       {std::pair(kFloat, kFloat), std::pair(DType::kBfloat16, DType::kBfloat16),
        std::pair(DType::kFloat64, DType::kBfloat16), std::pair(DType::kBfloat16, DType::kFloat64),
        std::pair(kFloat, DType::kFloat16), std::pair(DType::kInt32, kFloat)}) {
    EXPECT_EQ(CreateCast(*context, from, to).status().code(), absl::StatusCode::kInvalidArgument)
        << Name(from) << " to " << Name(to);
  }
}

// One convolution of each implementation.
TEST(RefusalsTest, Int8Convolution) {
  for (const int64_t groups : {1, 4}) {
    for (const bool bytes : {false, true}) {
      Int8Conv2dSpec spec;
      spec.conv.batch = 2, spec.conv.height = 5, spec.conv.width = 6;
      spec.conv.channels = spec.conv.filters = 4, spec.conv.groups = groups;
      spec.conv.epilogue.add = true;
      if (bytes) spec.output = Quantization();
      const auto primitive = *Int8Conv2d::Create(spec);
      const FencedWorkspace kept(primitive->kept_bytes()), memory(primitive->workspace_bytes());
      primitive->Keep(kept.Dirty().data());
      const std::vector<float> filter(size_t(spec.conv.FilterShape().NumElements()), 1);
      ASSERT_EQ(primitive->SetParameters({.filter = filter.data()}), absl::OkStatus());
      Tensor x = ZeroTensor(DType::kUint8, spec.conv.InputShape());
      Tensor addend = ZeroTensor(DType::kUint8, spec.conv.OutputShape());
      Tensor y = ZeroTensor(bytes ? DType::kUint8 : kFloat, spec.conv.OutputShape());
      const auto call = [&](Workspace given) { return primitive->Forward(x, addend, y, given); };
      ExpectRefusals({{"x", &x}, {"addend", &addend}, {"y", &y}}, [&] { return call(memory); });
      ExpectWorkspaceOf(primitive->workspace_bytes(), call);
    }
  }
}

}  // namespace
}  // namespace dtnn
