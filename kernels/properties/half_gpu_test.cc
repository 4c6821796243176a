// Primitives of GPUs with 16 bits: each result is that of the same call in float32, with the same
// inputs, rounded once. Both run on the same GPU, simulated or real. Our own kernels sum in one
// order in all types, so the bits are equal; the libraries of real GPUs do not. What float32
// computes is tested elsewhere. Also products and convolutions in TF32.

#include <cmath>
#include <functional>
#include <string>
#include <tuple>
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
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/prelu/prelu.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/philox.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

// The tensors of one of the two calls.
class Call {
 public:
  Call(DeviceContext& gpu, DType half, bool wide) : gpu_(gpu), half_(half), wide_(wide) {}

  DeviceContext& gpu() const { return gpu_; }
  DType dtype() const { return wide_ ? DType::kFloat32 : half_; }
  // An activation or a weight, in [-1, 1) * `factor`: numbers that 16 bits hold.
  Tensor In(const Shape& shape, uint64_t seed, double factor = 1) const {
    std::vector<double> values = Values(RandomTensor(DType::kFloat32, shape, seed));
    for (double& value : values) value *= factor;
    const Tensor half = TensorOf(half_, shape, values);
    return testing::Put(gpu_, TensorOf(dtype(), shape, Values(half)));
  }
  // A vector, a gradient of a parameter.
  Tensor Float(const Shape& shape, uint64_t seed) const {
    return testing::Put(gpu_, RandomTensor(DType::kFloat32, shape, seed));
  }
  Tensor Doubles(const Shape& shape) const {
    return testing::Put(gpu_, ZeroTensor(DType::kFloat64, shape));
  }
  Workspace Memory(size_t bytes) {
    memory_.push_back(*Buffer::Allocate(gpu_.device(), bytes + 1));
    return {memory_.back()->data(), bytes};
  }

 private:
  DeviceContext& gpu_;
  const DType half_;
  const bool wide_;
  std::vector<std::shared_ptr<Buffer>> memory_;
};

bool HasLibraries(const DeviceContext& gpu) { return gpu.device().type == DeviceType::kCuda; }

// Results are sums of up to `terms` products of numbers below 1, in an order that depends on the
// type, and rounded once more before an epilogue: where a library computes them, or, with `own`,
// everywhere. `rounded`: wider ones come from 16 bits too.
struct Sums {
  double terms = 0;
  bool own = false, rounded = false;
};

class HalfGpuTest : public ::testing::TestWithParam<std::tuple<Device, DType, TensorFormat>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  // `run` answers with the results of its calls.
  void ExpectRounded(const std::function<std::vector<Tensor>(Call&)>& run, const Sums& sums = {}) {
    Call wide(*gpu_, half_, true), narrow(*gpu_, half_, false);
    const std::vector<Tensor> expected = run(wide), results = run(narrow);
    ASSERT_EQ(results.size(), expected.size());
    int rounded = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const std::vector<double> values = Values(testing::Get(*gpu_, expected[i]));
      const DType dtype = results[i].dtype();
      rounded += dtype == half_;
      if (sums.terms > 0 && (sums.own || HasLibraries(*gpu_))) {
        const double unit = dtype == half_ || sums.rounded ? Unit() : 0x1p-20;
        EXPECT_TRUE(testing::Close(Values(testing::Get(*gpu_, results[i])), values,
                                   sums.terms * unit, unit))
            << "result " << i << " of " << Name(dtype);
        continue;
      }
      EXPECT_EQ(Values(testing::Get(*gpu_, results[i])),
                Values(TensorOf(dtype, results[i].shape(), values)))
          << "result " << i << " of " << Name(dtype);
    }
    EXPECT_GT(rounded, 0);
  }
  Shape Images(int64_t channels, int64_t extent = 6) const {
    return SampleShape({extent, extent + 1, channels}, format_).Prepend(3);
  }

  double Unit() const { return half_ == DType::kFloat16 ? 0x1p-11 : 0x1p-8; }

  const DType half_ = std::get<1>(GetParam());
  const TensorFormat format_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_;
};

TEST_P(HalfGpuTest, Convolution) {
  for (const int64_t groups : {1, 2}) {
    ExpectRounded(
        [&](Call& call) -> std::vector<Tensor> {
          Conv2dSpec spec;
          spec.batch = 3, spec.height = 6, spec.width = 7, spec.channels = 4, spec.filters = 6;
          spec.padding = 1, spec.groups = groups, spec.format = format_, spec.dtype = call.dtype();
          spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
          const auto conv = *CreateConv2d(call.gpu(), spec);
          const Workspace workspace = call.Memory(conv->workspace_bytes());
          const Tensor x = call.In(spec.InputShape(), 1), w = call.In(spec.FilterShape(), 2);
          const Tensor y = call.In(spec.OutputShape(), 3), dx = call.In(spec.InputShape(), 4);
          const Tensor dw = call.Float(spec.FilterShape(), 5), dbias = call.Float({6}, 6);
          EXPECT_EQ(conv->Forward(x, {w, 0}, y,
                                  {call.Float({6}, 7), call.Float({6}, 8), call.In(y.shape(), 9)},
                                  workspace),
                    absl::OkStatus());
          const Tensor dy = call.In(y.shape(), 10);
          EXPECT_EQ(conv->BackwardData(dy, {w, 0}, dx, /*accumulate=*/true, workspace),
                    absl::OkStatus());
          EXPECT_EQ(conv->BackwardFilter(x, dy, dw, dbias, /*accumulate=*/true, workspace),
                    absl::OkStatus());
          EXPECT_EQ(dw.dtype(), DType::kFloat32);
          return {y, dx, dw, dbias};
        },
        // cuDNN rounds the gradient of a filter to the type of the images.
        {.terms = 3 * 6 * 7, .rounded = true});
  }
}

TEST_P(HalfGpuTest, Product) {
  ExpectRounded(
      [&](Call& call) -> std::vector<Tensor> {
        std::vector<Tensor> results;
        for (const bool wide : {false, true}) {
          for (const bool accumulate : {false, true}) {
            const GemmSpec spec = {.m = 5,
                                   .n = 7,
                                   .k = 33,
                                   .transpose_b = true,
                                   .accumulate = accumulate,
                                   .dtype = call.dtype(),
                                   .wide_result = wide};
            const auto gemm = *CreateGemm(call.gpu(), spec);
            results.push_back(wide ? call.Float({5, 7}, 3) : call.In({5, 7}, 3));
            EXPECT_EQ(gemm->Run(call.In({5, 33}, 1), call.In({7, 33}, 2), results.back(), {}, {}),
                      absl::OkStatus());
          }
        }
        return results;
      },
      {.terms = 33});
}

// The product is stored in 16 bits before an epilogue of more than a bias: rounded twice.
TEST_P(HalfGpuTest, ProductWithEpilogue) {
  const auto run = [&](bool wide) {
    Call call(*gpu_, half_, wide);
    const auto gemm = *CreateGemm(
        *gpu_,
        {.m = 5, .n = 7, .k = 33, .dtype = call.dtype(), .epilogue = {.bias = true, .relu = true}});
    const Tensor c = call.In({5, 7}, 3);
    EXPECT_EQ(gemm->Run(call.In({5, 33}, 1), call.In({33, 7}, 2), c, {call.Float({7}, 4)},
                        call.Memory(gemm->workspace_bytes())),
              absl::OkStatus());
    return testing::Get(*gpu_, c);
  };
  EXPECT_TRUE(testing::Close(run(false), run(true), 33 * Unit(), Unit()));
}

TEST_P(HalfGpuTest, Activations) {
  for (const ActivationKind kind : kActivationKinds) {
    ExpectRounded([&](Call& call) -> std::vector<Tensor> {
      const auto activation =
          *CreateActivation(call.gpu(), {.kind = kind, .format = format_, .dtype = call.dtype()});
      const Shape shape = Images(5);
      const Tensor y = call.In(shape, 1), dx = call.In(shape, 2), z = call.In(shape, 3, 0.9);
      EXPECT_EQ(activation->Forward(call.In(shape, 4, 0.9), y), absl::OkStatus());
      EXPECT_EQ(activation->Backward(z, call.In(shape, 5), dx, /*accumulate=*/true),
                absl::OkStatus());
      return {y, dx};
    });
  }
}

TEST_P(HalfGpuTest, PRelu) {
  ExpectRounded([&](Call& call) -> std::vector<Tensor> {
    const auto prelu =
        *CreatePRelu(call.gpu(), {.channels = 5, .format = format_, .dtype = call.dtype()});
    const Shape shape = Images(5);
    const Tensor x = call.In(shape, 1), y = call.In(shape, 2), dx = call.In(shape, 3),
                 slopes = call.Float({5}, 4);
    EXPECT_EQ(prelu->Forward(x, slopes, y), absl::OkStatus());
    EXPECT_EQ(prelu->Backward(x, slopes, call.In(shape, 5), dx, /*accumulate=*/true),
              absl::OkStatus());
    return {y, dx};
  });
}

TEST_P(HalfGpuTest, AddBiasConcatDropout) {
  ExpectRounded([&](Call& call) -> std::vector<Tensor> {
    const Shape shape = Images(5);
    const Tensor sum = call.In(shape, 1);
    const Tensor addends[] = {call.In(shape, 2), call.In(shape, 3), call.In(shape, 4)};
    const auto add = *CreateAdd(call.gpu(), {.format = format_, .dtype = call.dtype()});
    EXPECT_EQ(add->Run(addends, sum, /*accumulate=*/true), absl::OkStatus());

    const auto bias =
        *CreateBias(call.gpu(), {.channels = 5, .format = format_, .dtype = call.dtype()});
    const Tensor biased = call.In(shape, 5), dbias = call.Float({5}, 6);
    EXPECT_EQ(bias->Forward(addends[0], call.Float({5}, 7), biased), absl::OkStatus());
    EXPECT_EQ(bias->Backward(addends[1], dbias, /*accumulate=*/true), absl::OkStatus());

    const auto concat = *CreateConcat(call.gpu(), {.format = format_, .dtype = call.dtype()});
    const Tensor whole = call.In(Images(10), 8), part = call.In(shape, 9);
    EXPECT_EQ(concat->Forward({addends, 2}, whole), absl::OkStatus());
    const Tensor parts[] = {part, Tensor()};
    const bool accumulate[] = {true, true};
    EXPECT_EQ(concat->Backward(whole, parts, accumulate), absl::OkStatus());

    const auto dropout =
        *CreateDropout(call.gpu(), {.rate = 0.3, .format = format_, .dtype = call.dtype()});
    const Tensor dropped = call.In(shape, 10);
    EXPECT_EQ(dropout->Run(addends[2], Philox(1, 2), 0, dropped, /*accumulate=*/true),
              absl::OkStatus());
    return {sum, biased, dbias, whole, part, dropped};
  });
}

TEST_P(HalfGpuTest, ChannelScale) {
  ExpectRounded([&](Call& call) -> std::vector<Tensor> {
    const Shape shape = Images(5), factors = SampleShape({1, 1, 5}, format_).Prepend(3);
    const Tensor y = call.In(shape, 1), ds = call.In(factors, 2);
    const auto scale = *CreateChannelScale(call.gpu(), {format_, call.dtype()});
    EXPECT_EQ(scale->Multiply(call.In(shape, 3), call.In(factors, 4), y, /*accumulate=*/true),
              absl::OkStatus());
    EXPECT_EQ(scale->Reduce(call.In(shape, 5), call.In(shape, 6), ds, /*accumulate=*/true),
              absl::OkStatus());
    return {y, ds};
  });
}

TEST_P(HalfGpuTest, Pooling) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    ExpectRounded([&](Call& call) -> std::vector<Tensor> {
      PoolSpec spec = {.kind = kind, .batch = 3, .height = 6, .width = 7, .channels = 5};
      spec.window = 3, spec.stride = 2, spec.padding = 1;
      spec.format = format_, spec.dtype = call.dtype();
      const auto pool = *CreatePool(call.gpu(), spec);
      const Tensor y = call.In(spec.OutputShape(), 1), dx = call.In(spec.InputShape(), 2);
      const Tensor argmax =
          testing::Put(call.gpu(), ZeroTensor(spec.ArgmaxDType(), spec.OutputShape()));
      EXPECT_EQ(pool->Forward(call.In(spec.InputShape(), 3), y, argmax), absl::OkStatus());
      EXPECT_EQ(pool->Backward(call.In(y.shape(), 4), argmax, dx, true), absl::OkStatus());

      const AdaptivePoolSpec adaptive = {.batch = 3,
                                         .height = 6,
                                         .width = 7,
                                         .channels = 5,
                                         .out_height = 4,
                                         .out_width = 2,
                                         .format = format_,
                                         .dtype = call.dtype()};
      const auto mean = *CreateAdaptivePool(call.gpu(), adaptive);
      const Tensor means = call.In(adaptive.OutputShape(), 5);
      const Tensor dmeans = call.In(adaptive.InputShape(), 6);
      EXPECT_EQ(mean->Forward(call.In(adaptive.InputShape(), 7), means), absl::OkStatus());
      EXPECT_EQ(mean->Backward(call.In(means.shape(), 8), dmeans, true), absl::OkStatus());
      return {y, dx, means, dmeans};
    });
  }
}

TEST_P(HalfGpuTest, PickedChannels) {
  ExpectRounded([&](Call& call) -> std::vector<Tensor> {
    const ChannelPickSpec spec = {.channels = 7,
                                  .begin = 1,
                                  .count = 6,
                                  .groups = 2,
                                  .format = format_,
                                  .dtype = call.dtype()};
    const auto pick = *CreateChannelPick(call.gpu(), spec);
    const auto shape = [&](int64_t channels) {
      return SampleShape({4, 5, channels}, format_).Prepend(2);
    };
    const Tensor y = call.In(shape(6), 1), dx = call.In(shape(7), 2);
    EXPECT_EQ(pick->Forward(call.In(shape(7), 3), y), absl::OkStatus());
    EXPECT_EQ(pick->Backward(call.In(shape(6), 4), dx, true), absl::OkStatus());
    return {y, dx};
  });
}

TEST_P(HalfGpuTest, Resizing) {
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
    ExpectRounded([&](Call& call) -> std::vector<Tensor> {
      const ResizeSpec spec = {.batch = 3,
                               .height = 6,
                               .width = 7,
                               .channels = 5,
                               .out_height = 12,
                               .out_width = 9,
                               .mode = mode,
                               .format = format_,
                               .dtype = call.dtype()};
      const auto resize = *CreateResize(call.gpu(), spec);
      const Tensor y = call.In(spec.OutputShape(), 1), dx = call.In(spec.InputShape(), 2);
      EXPECT_EQ(resize->Forward(call.In(spec.InputShape(), 3), y), absl::OkStatus());
      EXPECT_EQ(resize->Backward(call.In(y.shape(), 4), dx, true), absl::OkStatus());
      return {y, dx};
    });
  }
}

// Channels of 16 bits are summed in float32, others in float64.
TEST_P(HalfGpuTest, BatchNormalisation) {
  for (const auto& [add, relu] :
       {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    ExpectRounded(
        [&](Call& call) -> std::vector<Tensor> {
          const auto norm = *CreateBatchNorm(call.gpu(), {.batch = 3,
                                                          .positions = 42,
                                                          .channels = 5,
                                                          .format = format_,
                                                          .dtype = call.dtype(),
                                                          .add = add,
                                                          .relu = relu});
          const Workspace workspace = call.Memory(norm->workspace_bytes());
          const Shape shape = Images(5);
          const bool cuts = add && relu;
          const Tensor x = call.In(shape, 1), dy = call.In(shape, 2);
          const BatchStatistics statistics = {call.Doubles({5}), call.Doubles({5})};
          const BatchNormParameters line = {{call.Float({5}, 3), 0}, {call.Float({5}, 4), 0}};
          const RunningStatistics running = {
              {call.Float({5}, 5), 0},
              {testing::Put(call.gpu(), testing::OnesTensor(DType::kFloat32, {5})), 0}};
          const BatchNormGradients gradients = {call.Float({5}, 6), call.Float({5}, 7)};
          const Tensor y = call.In(shape, 8), dx = call.In(shape, 9), inferred = call.In(shape, 10);
          const Tensor dinferred = call.In(shape, 11), other_dy = call.In(shape, 12);
          const Tensor addend = add ? call.In(shape, 13) : Tensor();
          for (const absl::Status& status :
               {norm->Statistics(x, statistics, workspace), norm->Track(statistics, running),
                norm->Apply(x, statistics, line, addend, y, workspace),
                norm->Gradients(x, cuts ? y : Tensor(), dy, statistics, line, gradients, workspace),
                norm->BackwardData(x, dy, statistics, line, gradients, 3 * 42, dx, true, workspace),
                norm->Infer(x, line, running, addend, inferred, workspace),
                norm->BackwardInfer(x, cuts ? inferred : Tensor(), other_dy, line, running,
                                    dinferred, true, workspace)}) {
            EXPECT_EQ(status, absl::OkStatus());
          }
          return {y,
                  dx,
                  dy,
                  inferred,
                  dinferred,
                  other_dy,
                  gradients.gamma,
                  gradients.beta,
                  running.mean.tensor,
                  statistics.variance};
        },
        {.terms = 16, .own = true});
  }
}

TEST_P(HalfGpuTest, SoftmaxAndItsLoss) {
  ExpectRounded([&](Call& call) -> std::vector<Tensor> {
    const SoftmaxSpec spec = {
        .rows = 4, .columns = 9, .dtype = call.dtype(), .label_smoothing = 0.1};
    const auto softmax = *CreateSoftmax(call.gpu(), spec);
    const Shape shape = {4, 9};
    const Tensor x = call.In(shape, 1, 4), y = call.Float(shape, 2), dx = call.In(shape, 3);
    EXPECT_EQ(softmax->Forward(x, y), absl::OkStatus());
    EXPECT_EQ(softmax->Backward(y, call.Float(shape, 4), dx, true), absl::OkStatus());

    const auto fused = *CreateSoftmaxCrossEntropy(call.gpu(), spec);
    const Tensor labels = testing::Put(call.gpu(), TensorOf(DType::kInt32, {4}, {0, 8, 3, 3}));
    const Tensor p = call.Float(shape, 5), losses = call.Float({4}, 6), logits = call.In(shape, 7);
    const Tensor scale = testing::Put(call.gpu(), TensorOf(DType::kFloat32, {1}, {1024}));
    EXPECT_EQ(fused->Run(x, labels, p, losses, logits, {0.25, scale}), absl::OkStatus());
    return {y, dx, p, losses, logits};
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, HalfGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(DType::kFloat16, DType::kBfloat16),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)));

// The scale that only the device knows multiplies the gradient, and nothing else.
class LossScaleTest : public ::testing::TestWithParam<Device> {};

TEST_P(LossScaleTest, MultipliesTheGradientOfLogits) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  const auto fused = *CreateSoftmaxCrossEntropy(*gpu, {.rows = 2, .columns = 3});
  const Tensor x = testing::Put(*gpu, RandomTensor(DType::kFloat32, {2, 3}, 1));
  const Tensor labels = testing::Put(*gpu, TensorOf(DType::kInt32, {2}, {0, 2}));
  const Tensor scale = testing::Put(*gpu, TensorOf(DType::kFloat32, {1}, {512}));
  std::vector<double> gradients[2], losses[2];
  for (const bool scaled : {false, true}) {
    const Tensor y = testing::Put(*gpu, ZeroTensor(DType::kFloat32, {2, 3}));
    const Tensor loss = testing::Put(*gpu, ZeroTensor(DType::kFloat32, {2}));
    const Tensor dx = testing::Put(*gpu, ZeroTensor(DType::kFloat32, {2, 3}));
    ASSERT_EQ(fused->Run(x, labels, y, loss, dx, {scaled ? 0.5 : 256, scaled ? scale : Tensor()}),
              absl::OkStatus());
    gradients[scaled] = Values(testing::Get(*gpu, dx));
    losses[scaled] = Values(testing::Get(*gpu, loss));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(losses[0], losses[1]);
}

INSTANTIATE_TEST_SUITE_P(All, LossScaleTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

// Results of TF32 are those of operands that were rounded before; not those of the operands as they
// are, but close to them: an operand changes by at most 2^-11 of itself. A library may cut operands
// off instead, which changes them by up to 2^-10, or compute exactly.
class Tf32Test : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
  }
  static Tensor Rounded(const Tensor& tensor) {
    std::vector<double> values = Values(tensor);
    for (double& value : values) value = double(RoundToTf32(float(value)));
    return TensorOf(DType::kFloat32, tensor.shape(), values);
  }
  // `run` answers with the result of operands on the host, whose products sum up to at most `most`.
  void ExpectRoundedOperands(
      double most,
      const std::function<Tensor(bool tf32, const std::function<Tensor(Tensor)>&)>& run) {
    const auto same = [](const Tensor& tensor) { return tensor; };
    const std::vector<double> tf32 = Values(run(true, same)), exact = Values(run(false, same));
    if (HasLibraries(*gpu_)) {
      EXPECT_TRUE(testing::Close(tf32, exact, most * 0x1p-9 * 1.01, 0));
      return;
    }
    EXPECT_EQ(tf32, Values(run(false, Rounded)));
    EXPECT_NE(tf32, exact);
    EXPECT_TRUE(testing::Close(tf32, exact, most * 0x1p-10 * 1.01, 0));
  }

  std::unique_ptr<DeviceContext> gpu_;
};

INSTANTIATE_TEST_SUITE_P(All, Tf32Test, ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

TEST_P(Tf32Test, Product) {
  ExpectRoundedOperands(40, [&](bool tf32, const auto& operand) {
    const auto gemm = *CreateGemm(*gpu_, {.m = 5, .n = 7, .k = 40, .tf32 = tf32});
    const Tensor c = testing::Put(*gpu_, ZeroTensor(DType::kFloat32, {5, 7}));
    EXPECT_EQ(gemm->Run(testing::Put(*gpu_, operand(RandomTensor(DType::kFloat32, {5, 40}, 1))),
                        testing::Put(*gpu_, operand(RandomTensor(DType::kFloat32, {40, 7}, 2))), c,
                        {}, {}),
              absl::OkStatus());
    return testing::Get(*gpu_, c);
  });
}

TEST_P(Tf32Test, ConvolutionInAllDirections) {
  Conv2dSpec spec;
  spec.batch = 2, spec.height = 5, spec.width = 6, spec.channels = 3, spec.filters = 4;
  spec.padding = 1;
  for (const int direction : {0, 1, 2}) {
    ExpectRoundedOperands(2 * 5 * 6 * 9, [&](bool tf32, const auto& operand) {
      spec.tf32 = tf32;
      const auto conv = *CreateConv2d(*gpu_, spec);
      const auto memory = *Buffer::Allocate(gpu_->device(), conv->workspace_bytes() + 1);
      const Workspace workspace(memory->data(), conv->workspace_bytes());
      const auto random = [&](const Shape& shape, uint64_t seed) {
        return testing::Put(*gpu_, operand(RandomTensor(DType::kFloat32, shape, seed)));
      };
      const Tensor x = random(spec.InputShape(), 1), w = random(spec.FilterShape(), 2);
      const Tensor y = random(spec.OutputShape(), 3);
      absl::Status status;
      Tensor result = direction == 0 ? y : direction == 1 ? x : w;
      if (direction == 0) status = conv->Forward(x, {w, 0}, y, {}, workspace);
      if (direction == 1) status = conv->BackwardData(y, {w, 0}, x, false, workspace);
      if (direction == 2) status = conv->BackwardFilter(x, y, w, Tensor(), false, workspace);
      EXPECT_EQ(status, absl::OkStatus());
      return testing::Get(*gpu_, result);
    });
  }
}

TEST(HalfTest, TheCpuRefusesFloat16AndSaysWhy) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  constexpr DType kHalf = DType::kFloat16;
  for (const absl::Status& status :
       {CreateGemm(*cpu, {.m = 1, .n = 1, .k = 1, .dtype = kHalf}).status(),
        CreateActivation(*cpu, {.dtype = kHalf}).status(),
        CreateAdd(*cpu, {.dtype = kHalf}).status(),
        CreateBias(*cpu, {.channels = 1, .dtype = kHalf}).status(),
        CreateConcat(*cpu, {.dtype = kHalf}).status(),
        CreateDropout(*cpu, {.dtype = kHalf}).status(),
        CreatePool(*cpu, {.batch = 1, .height = 2, .width = 2, .channels = 1, .dtype = kHalf})
            .status(),
        CreateBatchNorm(*cpu, {.batch = 1, .channels = 1, .dtype = kHalf}).status(),
        CreateSoftmax(*cpu, {.rows = 1, .columns = 1, .dtype = kHalf}).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find("only GPUs compute with float16"),
              std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace dtnn
