// Every operand of every call of every primitive, on CPUs and GPUs, refused where it does not fit,
// and every workspace. (Those of convolutions: conv/conv2d_call_test.cc.)

#include "tools/testing/refusals.h"

#include <array>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/add/add.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/bias/bias.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/concat/concat.h"
#include "kernels/device/context.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sum_of_squares/sum_of_squares.h"
#include "kernels/testing/device_workspace.h"
#include "kernels/testing/gpu_testing.h"
#include "kernels/update/update.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::DeviceWorkspace;
using testing::ExpectRefusals;
using testing::ZeroTensor;

constexpr DType kFloat = DType::kFloat32;
const Shape kImages = {2, 5, 6, 3};

class RefusalsTest : public ::testing::TestWithParam<Device> {
 protected:
  void TearDown() override { EXPECT_EQ(context_->Synchronize(), absl::OkStatus()); }
  Tensor Zeros(const Shape& shape, DType dtype = kFloat) const {
    const Tensor host = ZeroTensor(dtype, shape);
    return GetParam().is_cpu() ? host : testing::Put(*context_, host);
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(GetParam());
};

TEST_P(RefusalsTest, Activation) {
  const auto primitive = *CreateActivation(*context_, {});
  Tensor x = Zeros(kImages), y = Zeros(kImages), dy = Zeros(kImages), dx = Zeros(kImages);
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"y", &y}, {"dy", &dy}, {"dx", &dx}},
                 [&] { return primitive->Backward(y, dy, dx, false); });
}

TEST_P(RefusalsTest, Add) {
  const auto primitive = *CreateAdd(*context_, {});
  Tensor y = Zeros(kImages);
  std::array<Tensor, 2> inputs = {Zeros(kImages), Zeros(kImages)};
  ExpectRefusals({{"x0", &inputs[0]}, {"x1", &inputs[1]}, {"y", &y}},
                 [&] { return primitive->Run(inputs, y, true); });
}

TEST_P(RefusalsTest, Bias) {
  const auto primitive = *CreateBias(*context_, {.channels = 3});
  Tensor x = Zeros(kImages), bias = Zeros({3}), y = Zeros(kImages);
  ExpectRefusals({{"x", &x}, {"bias", &bias}, {"y", &y}},
                 [&] { return primitive->Forward(x, bias, y); });
  // The number of images is free.
  ExpectRefusals({{"dbias", &bias}}, [&] { return primitive->Backward(x, bias, true); });
}

TEST_P(RefusalsTest, Concat) {
  const auto primitive = *CreateConcat(*context_, {});
  std::array<Tensor, 2> parts = {Zeros({2, 5, 6, 1}), Zeros({2, 5, 6, 2})};
  Tensor whole = Zeros(kImages);
  ExpectRefusals({{"x0", &parts[0]}, {"x1", &parts[1]}, {"y", &whole}},
                 [&] { return primitive->Forward(parts, whole); });
  ExpectRefusals({{"dx0", &parts[0], /*optional=*/true}, {"dx1", &parts[1], true}, {"dy", &whole}},
                 [&] {
                   return primitive->Backward(whole, parts, std::array{false, true});
                 });
}

TEST_P(RefusalsTest, Dropout) {
  const auto primitive = *CreateDropout(*context_, {});
  Tensor x = Zeros(kImages), y = Zeros(kImages), step = Zeros({1}, DType::kInt64);
  const Philox stream(1, StreamId(RandomPurpose::kDropout));
  ExpectRefusals({{"x", &x}, {"y", &y}, {"step", &step, /*optional=*/true}},
                 [&] { return primitive->Run(x, stream, RandomOffset(4, step), y, false); });
}

TEST_P(RefusalsTest, Pool) {
  const PoolSpec spec = {.batch = 2, .height = 5, .width = 6, .channels = 3};
  const auto primitive = *CreatePool(*context_, spec);
  Tensor x = Zeros(kImages), y = Zeros(spec.OutputShape());
  Tensor argmax = Zeros(spec.OutputShape(), spec.ArgmaxDType());
  ExpectRefusals({{"x", &x}, {"y", &y}, {"argmax", &argmax, /*optional=*/true, false}},
                 [&] { return primitive->Forward(x, y, argmax); });
  ExpectRefusals({{"dy", &y}, {"argmax", &argmax, false, false}, {"dx", &x}},
                 [&] { return primitive->Backward(y, argmax, x, true); });
}

TEST_P(RefusalsTest, AdaptivePool) {
  const AdaptivePoolSpec spec = {
      .batch = 2, .height = 5, .width = 6, .channels = 3, .out_height = 2, .out_width = 3};
  const auto primitive = *CreateAdaptivePool(*context_, spec);
  Tensor x = Zeros(kImages), y = Zeros(spec.OutputShape());
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dy", &y}, {"dx", &x}}, [&] { return primitive->Backward(y, x, false); });
}

TEST_P(RefusalsTest, ChannelPick) {
  const auto primitive = *CreateChannelPick(*context_, {.channels = 3, .begin = 1, .count = 2});
  Tensor x = Zeros(kImages), y = Zeros({2, 5, 6, 2});
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dy", &y}, {"dx", &x}}, [&] { return primitive->Backward(y, x, false); });
}

TEST_P(RefusalsTest, Resize) {
  const ResizeSpec spec = {
      .batch = 2, .height = 5, .width = 6, .channels = 3, .out_height = 10, .out_width = 9};
  const auto primitive = *CreateResize(*context_, spec);
  Tensor x = Zeros(kImages), y = Zeros(spec.OutputShape());
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"dy", &y}, {"dx", &x}}, [&] { return primitive->Backward(y, x, false); });
}

TEST_P(RefusalsTest, Softmax) {
  const auto primitive = *CreateSoftmax(*context_, {.rows = 4, .columns = 5});
  Tensor x = Zeros({4, 5}), y = Zeros({4, 5}), dy = Zeros({4, 5}), dx = Zeros({4, 5});
  ExpectRefusals({{"x", &x}, {"y", &y}}, [&] { return primitive->Forward(x, y); });
  ExpectRefusals({{"y", &y}, {"dy", &dy}, {"dx", &dx}},
                 [&] { return primitive->Backward(y, dy, dx, true); });

  const auto loss = *CreateSoftmaxCrossEntropy(*context_, {.rows = 4, .columns = 5});
  Tensor labels = Zeros({4}, DType::kInt32), losses = Zeros({4}), scale = Zeros({1});
  ExpectRefusals({{"x", &x},
                  {"labels", &labels},
                  {"y", &y},
                  {"losses", &losses},
                  {"dx", &dx, /*optional=*/true},
                  {"the scale", &scale, true}},
                 [&] {
                   return loss->Run(x, labels, y, losses, dx, {1., scale});
                 });
}

TEST_P(RefusalsTest, SumOfSquares) {
  const auto primitive = *CreateSumOfSquares(*context_, kFloat);
  const Tensor x = Zeros({7});
  Tensor sum = Zeros({1}, DType::kFloat64);
  EXPECT_EQ(primitive->Queue(x, sum), absl::OkStatus());
  // Any shape will do; of type and pitch its own test asks.
  EXPECT_FALSE(primitive->Queue(Tensor(), sum).ok());
  EXPECT_FALSE(primitive->Queue(Zeros({7}, DType::kFloat64), sum).ok());
  EXPECT_FALSE(primitive->Queue(x, Tensor()).ok());
  EXPECT_FALSE(primitive->Queue(x, Zeros({1})).ok());
  EXPECT_FALSE(primitive->Queue(x, Zeros({2}, DType::kFloat64)).ok());
}

TEST_P(RefusalsTest, Update) {
  const auto primitive = *CreateUpdate(*context_, {.rule = UpdateRule::kAdam});
  Tensor w = Zeros({7}), g = Zeros({7});
  std::array<Tensor, 2> slots = {Zeros({7}), Zeros({7})};
  UpdateGates gates = {.closed = Zeros({1}, DType::kInt32), .factor = Zeros({1}, DType::kFloat64)};
  ASSERT_EQ(primitive->SetStep({.learning_rate = 1}), absl::OkStatus());
  ExpectRefusals({{"w", &w},
                  {"g", &g},
                  {"slot 0", &slots[0]},
                  {"slot 1", &slots[1]},
                  {"closed", &gates.closed, /*optional=*/true},
                  {"factor", &gates.factor, true}},
                 [&] { return primitive->Run(w, g, slots, gates); });
}

TEST_P(RefusalsTest, ByteImages) {
  const ByteImagesSpec spec = {
      .sample = {5, 6, 3}, .changes = 2, .values = ZeroTensor(kFloat, {3, 256})};
  const auto primitive = *CreateByteImages(*context_, spec, kFloat);
  Tensor bytes = Zeros(kImages, DType::kUint8), y = Zeros(kImages);
  Tensor changes = Zeros(spec.changes_shape(2), DType::kInt32);
  ExpectRefusals({{"bytes", &bytes, false, false},
                  {"changes", &changes, false, false},
                  {"y", &y, false, false}},
                 [&] { return primitive->Run(bytes, changes, y); });
}

TEST_P(RefusalsTest, Gemm) {
  for (const bool sums : {false, true}) {
    GemmSpec spec = {.m = 4, .n = 5, .k = 6, .column_sums = sums};
    spec.epilogue = {.bias = true, .scale = true, .add = true};
    const auto primitive = *CreateGemm(*context_, spec);
    Tensor a = Zeros({4, 6}), b = Zeros({6, 5}), c = Zeros({4, 5});
    EpilogueOperands operands = {.bias = Zeros({5}),
                                 .scale = Zeros({5}),
                                 .addend = Zeros({4, 5}),
                                 .column_sums = Zeros({5})};
    const DeviceWorkspace workspace(GetParam(), primitive->workspace_bytes());
    std::vector<testing::CheckedOperand> checked = {{"a", &a},
                                                    {"b", &b},
                                                    {"c", &c},
                                                    {"bias", &operands.bias},
                                                    {"scale", &operands.scale},
                                                    {"addend", &operands.addend}};
    if (sums) checked.push_back({"the sums", &operands.column_sums});
    ExpectRefusals(checked, [&] { return primitive->Run(a, b, c, operands, workspace); });
    workspace.ExpectNeeded(
        [&](Workspace given) { return primitive->Run(a, b, c, operands, given); });
  }
}

TEST_P(RefusalsTest, BatchNorm) {
  const auto primitive = *CreateBatchNorm(*context_, {.batch = 2, .positions = 30, .channels = 3});
  const auto vector = [&](DType dtype = kFloat) { return Zeros({3}, dtype); };
  const DeviceWorkspace memory(GetParam(), primitive->workspace_bytes());
  Tensor x = Zeros(kImages), y = Zeros(kImages), dy = Zeros(kImages), dx = Zeros(kImages);
  BatchStatistics statistics = {vector(DType::kFloat64), vector(DType::kFloat64)};
  BatchNormParameters parameters = {{vector(), 0}, {vector(), 0}};
  RunningStatistics running = {{vector(), 0}, {vector(), 0}};
  BatchNormGradients gradients = {vector(), vector()};

  using Operands = std::vector<testing::CheckedOperand>;
  const Operands of_batch = {{"mean", &statistics.mean}, {"variance", &statistics.variance}};
  const Operands of_parameters = {{"gamma", &parameters.gamma.tensor},
                                  {"beta", &parameters.beta.tensor}};
  const Operands of_running = {{"running mean", &running.mean.tensor},
                               {"running variance", &running.variance.tensor}};
  const Operands of_gradients = {{"dgamma", &gradients.gamma}, {"dbeta", &gradients.beta}};
  const auto check = [&](const char* direction, Operands operands,
                         const std::vector<Operands>& vectors, auto call) {
    SCOPED_TRACE(direction);
    for (const Operands& more : vectors) operands.insert(operands.end(), more.begin(), more.end());
    ExpectRefusals(operands, [&] { return call(memory); });
    memory.ExpectNeeded(call);
  };
  check("Statistics", {{"x", &x}}, {of_batch},
        [&](Workspace given) { return primitive->Statistics(x, statistics, given); });
  check("Apply", {{"x", &x}, {"y", &y}}, {of_batch, of_parameters}, [&](Workspace given) {
    return primitive->Apply(x, statistics, parameters, Tensor(), y, given);
  });
  check("Infer", {{"x", &x}, {"y", &y}}, {of_parameters, of_running}, [&](Workspace given) {
    return primitive->Infer(x, parameters, running, Tensor(), y, given);
  });
  check("Gradients", {{"x", &x}, {"dy", &dy}}, {of_batch, of_parameters, of_gradients},
        [&](Workspace given) {
          return primitive->Gradients(x, Tensor(), dy, statistics, parameters, gradients, given);
        });
  check("BackwardData", {{"x", &x}, {"dy", &dy}, {"dx", &dx}},
        {of_batch, of_parameters, of_gradients}, [&](Workspace given) {
          return primitive->BackwardData(x, dy, statistics, parameters, gradients, 60, dx, true,
                                         given);
        });
  check("BackwardInfer", {{"x", &x}, {"dy", &dy}, {"dx", &dx}}, {of_parameters, of_running},
        [&](Workspace given) {
          return primitive->BackwardInfer(x, Tensor(), dy, parameters, running, dx, false, given);
        });
  Operands tracked = of_batch;
  tracked.insert(tracked.end(), of_running.begin(), of_running.end());
  SCOPED_TRACE("Track");
  ExpectRefusals(tracked, [&] { return primitive->Track(statistics, running); });
}

INSTANTIATE_TEST_SUITE_P(, RefusalsTest, ::testing::Values(Device::Cpu(), Device::Simulated(0)));

}  // namespace
}  // namespace dtnn
