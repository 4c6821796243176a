// What CPUs make of bfloat16: every primitive computes in float32 and rounds its results once, so
// that they are, bit for bit, those of the same call in float32 on the same numbers, rounded.
// Random calls, with a fence beside every operand. (Convolutions:
// kernels/conv/conv2d_bfloat16_test.cc.)

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/activation/activation.h"
#include "kernels/add/add.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/bias/bias.h"
#include "kernels/channel_pick/channel_pick.h"
#include "kernels/concat/concat.h"
#include "kernels/device/context.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gemm/gemm.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/resize/resize.h"
#include "kernels/softmax/softmax.h"
#include "tensor/philox.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/random_cases.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::RandomCase;
using testing::RandomCases;
using testing::TensorOf;
using testing::Values;
using Doubles = std::vector<double>;

constexpr int64_t kCases = 100;
constexpr DType kTypes[] = {DType::kBfloat16, DType::kFloat32};

// An operand of either type, with the same numbers and gaps.
struct Twin {
  Tensor half, wide;
  TensorFormat format = TensorFormat::kNHWC;

  const Tensor& Of(DType dtype) const { return dtype == DType::kBfloat16 ? half : wide; }
  ::testing::AssertionResult Agrees() const {
    const Doubles actual = Values(half, format), expected = Values(wide, format);
    for (size_t i = 0; i < actual.size(); ++i) {
      const double rounded = double(Bfloat16(float(expected[i])));
      if (actual[i] == rounded || (std::isnan(actual[i]) && std::isnan(rounded))) continue;
      return ::testing::AssertionFailure() << "element " << i << " is " << actual[i]
                                           << ", expected " << expected[i] << " rounded";
    }
    return ::testing::AssertionSuccess();
  }
};

class Bfloat16Test : public ::testing::Test {
 protected:
  static Twin TwinOf(const Tensor& half, TensorFormat format) {
    const Tensor dense = TensorOf(DType::kFloat32, half.shape(), Values(half, format));
    return {half, half.dense() ? dense : testing::Pitched(dense, format), format};
  }
  static Twin Operand(RandomCase& random, const Shape& shape,
                      TensorFormat format = TensorFormat::kNHWC) {
    return TwinOf(random.Operand(DType::kBfloat16, shape, format), format);
  }
  // Values that are float32 in both, such as a parameter.
  static Twin Wide(RandomCase& random, const Shape& shape, DType dtype = DType::kFloat32) {
    const Tensor half = random.Dense(dtype, shape);
    return {half, TensorOf(dtype, shape, Values(half))};
  }
  static ::testing::AssertionResult Same(const Twin& wide) {
    if (Values(wide.half) == Values(wide.wide)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "sums differ from those of float32";
  }
  static Shape RandomShape(RandomCase& random, TensorFormat format, int64_t channels) {
    const bool large = random.Seldom(8);
    if (random.Seldom(3)) return {random.Between(1, large ? 4000 : 40), channels};
    const int64_t n = random.Between(1, large ? 40 : 4);
    return SampleShape({random.Between(1, 9), random.Between(1, large ? 60 : 9), channels}, format)
        .Prepend(n);
  }
  static void Name(RandomCase& random, const Shape& shape, TensorFormat format, bool accumulate) {
    random.Name(StrCat(dtnn::Name(format), " ", shape.ToString(), " ", accumulate));
    random.SetThreads();
  }

  std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
};

TEST_F(Bfloat16Test, ActivationsAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const ActivationKind kind = random->PickFrom(kActivationKinds);
    const Shape shape = RandomShape(*random, format, random->Between(1, 40));
    const bool accumulate = random->Flip();
    Name(*random, shape, format, accumulate);
    const Twin x = Operand(*random, shape, format);
    const Twin y = random->Seldom(4) ? x : Operand(*random, shape, format);
    const Twin dy = Operand(*random, shape, format);
    const Twin dx = !accumulate && random->Seldom(4) ? dy : Operand(*random, shape, format);
    const Twin outputs = Operand(*random, shape, format);
    for (const DType dtype : kTypes) {
      const auto primitive = *CreateActivation(*cpu_, {kind, format, dtype});
      ASSERT_EQ(primitive->Forward(x.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(primitive->Backward(outputs.Of(dtype), dy.Of(dtype), dx.Of(dtype), accumulate),
                absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(dx.Agrees());
  }
}

TEST_F(Bfloat16Test, SumsAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const Shape shape = RandomShape(*random, format, random->Between(1, 40));
    const bool accumulate = random->Flip();
    Name(*random, shape, format, accumulate);
    std::vector<Twin> inputs(size_t(random->Between(1, 6)));
    for (Twin& input : inputs) input = Operand(*random, shape, format);
    const Twin y = random->Seldom(4) ? inputs.front() : Operand(*random, shape, format);
    for (const DType dtype : kTypes) {
      std::vector<Tensor> of_type;
      for (const Twin& input : inputs) of_type.push_back(input.Of(dtype));
      ASSERT_EQ((*CreateAdd(*cpu_, {format, dtype}))->Run(of_type, y.Of(dtype), accumulate),
                absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
  }
}

TEST_F(Bfloat16Test, BiasesAreRoundedOnceAndTheirGradientsNot) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const int64_t channels = random->Seldom(8) ? random->Between(512, 600) : random->Between(1, 70);
    const Shape shape = RandomShape(*random, format, channels);
    const bool accumulate = random->Flip();
    Name(*random, shape, format, accumulate);
    const Twin x = Operand(*random, shape, format), y = Operand(*random, shape, format);
    const Twin bias = Wide(*random, {channels}), dbias = Wide(*random, {channels});
    for (const DType dtype : kTypes) {
      const auto primitive =
          *CreateBias(*cpu_, {.channels = channels, .format = format, .dtype = dtype});
      ASSERT_EQ(primitive->Forward(x.Of(dtype), bias.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(primitive->Backward(x.Of(dtype), dbias.Of(dtype), accumulate), absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(Same(dbias));
  }
}

TEST_F(Bfloat16Test, ConcatenationsAreCopiedOrRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const int64_t first = random->Between(1, 20), second = random->Between(1, 20);
    const int64_t n = random->Between(1, 4), h = random->Between(1, 9), w = random->Between(1, 9);
    const bool accumulate[] = {random->Flip(), random->Flip()};
    const auto images = [&](int64_t channels) {
      return SampleShape({h, w, channels}, format).Prepend(n);
    };
    Name(*random, images(first + second), format, accumulate[0]);
    const Twin a = Operand(*random, images(first), format);
    const Twin b = Operand(*random, images(second), format);
    const Twin y = Operand(*random, images(first + second), format);
    for (const DType dtype : kTypes) {
      const auto primitive = *CreateConcat(*cpu_, {format, dtype});
      const Tensor parts[] = {a.Of(dtype), b.Of(dtype)};
      ASSERT_EQ(primitive->Forward(parts, y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(primitive->Backward(y.Of(dtype), parts, accumulate), absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(a.Agrees());
    ASSERT_TRUE(b.Agrees());
  }
}

TEST_F(Bfloat16Test, DropoutsAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const Shape shape = RandomShape(*random, format, random->Between(1, 40));
    const double rate = double(random->Between(0, 4)) / 4;
    const bool accumulate = random->Flip();
    Name(*random, shape, format, accumulate);
    const Philox stream(uint64_t(random->Between(0, 1000)), StreamId(RandomPurpose::kDropout));
    const Twin x = Operand(*random, shape, format), y = Operand(*random, shape, format);
    for (const DType dtype : kTypes) {
      const auto primitive =
          *CreateDropout(*cpu_, {.rate = rate, .format = format, .dtype = dtype});
      ASSERT_EQ(primitive->Run(x.Of(dtype), stream, uint64_t{8}, y.Of(dtype), accumulate),
                absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
  }
}

TEST_F(Bfloat16Test, ProbabilitiesAndLossesAreFloat32) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const int64_t rows = random->Between(1, 60), columns = random->Between(1, 120);
    const Shape shape = {rows, columns};
    const bool accumulate = random->Flip();
    const double smoothing = random->Pick({0., .1});
    Name(*random, shape, TensorFormat::kNHWC, accumulate);
    const Twin x = Operand(*random, shape), dx = Operand(*random, shape);
    const Twin slope = Operand(*random, shape);
    const Twin y = Wide(*random, shape), dy = Wide(*random, shape), losses = Wide(*random, {rows});
    const Twin p = Wide(*random, shape);
    const Tensor labels = testing::ZeroTensor(DType::kInt32, {rows});
    for (int64_t i = 0; i < rows; ++i) {
      labels.data<int32_t>()[i] = int32_t(random->Between(0, columns - 1));
    }
    for (const DType dtype : kTypes) {
      const SoftmaxSpec spec = {
          .rows = rows, .columns = columns, .dtype = dtype, .label_smoothing = smoothing};
      const auto softmax = *CreateSoftmax(*cpu_, spec);
      ASSERT_EQ(softmax->Forward(x.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(softmax->Backward(y.Of(dtype), dy.Of(dtype), dx.Of(dtype), accumulate),
                absl::OkStatus());
      const auto loss = *CreateSoftmaxCrossEntropy(*cpu_, spec);
      ASSERT_EQ(loss->Run(x.Of(dtype), labels, p.Of(dtype), losses.Of(dtype), slope.Of(dtype), .25),
                absl::OkStatus());
    }
    for (const Twin& exact : {y, p, losses}) ASSERT_TRUE(Same(exact));
    ASSERT_TRUE(dx.Agrees());
    ASSERT_TRUE(slope.Agrees());
  }
}

TEST_F(Bfloat16Test, PoolsAreRoundedOnce) {
  for (RandomCases cases(2 * kCases); RandomCase* random = cases.Next();) {
    PoolSpec spec = {.kind = random->Pick({PoolKind::kMax, PoolKind::kAverage}),
                     .batch = random->Between(1, 3),
                     .height = random->Between(1, 14),
                     .width = random->Between(1, 40),
                     .channels = random->Between(1, 40),
                     .window = Pair(random->Between(1, 4)),
                     .stride = Pair(random->Between(1, 3)),
                     .format = random->Format()};
    spec.padding = Pair(random->Between(0, spec.window.vertical - 1));
    const bool accumulate = random->Flip();
    random->Name(StrCat(spec.ToString(), " ", accumulate));
    if (!spec.Validate().ok()) continue;
    random->SetThreads();
    const Twin x = Operand(*random, spec.InputShape(), spec.format);
    const Twin y = Operand(*random, spec.OutputShape(), spec.format);
    const Twin dy = Operand(*random, spec.OutputShape(), spec.format);
    Twin dx = Operand(*random, spec.InputShape(), spec.format);
    const Doubles before = Values(dx.half, spec.format);
    const Twin argmax = Wide(*random, spec.OutputShape(), spec.ArgmaxDType());
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto pool = *CreatePool(*cpu_, spec);
      ASSERT_EQ(pool->Forward(x.Of(dtype), y.Of(dtype), argmax.Of(dtype)), absl::OkStatus());
      // Sums of windows are added to what was there at the end, since that rounds.
      const bool adds = accumulate && dtype == DType::kBfloat16;
      ASSERT_EQ(pool->Backward(dy.Of(dtype), argmax.Of(dtype), dx.Of(dtype), adds),
                absl::OkStatus());
    }
    if (accumulate) {
      Doubles sums = Values(dx.wide, spec.format);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += before[i];
      dx.wide = TensorOf(DType::kFloat32, dx.wide.shape(), sums);
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(Same(argmax));
    ASSERT_TRUE(dx.Agrees());
  }
}

TEST_F(Bfloat16Test, AdaptivePoolsAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    AdaptivePoolSpec spec = {.batch = random->Between(1, 20),
                             .height = random->Between(1, 14),
                             .width = random->Between(1, 14),
                             .channels = random->Between(1, 40),
                             .out_height = random->Between(1, 8),
                             .out_width = random->Between(1, 8),
                             .format = random->Format()};
    random->Name(spec.ToString());
    random->SetThreads();
    const Twin x = Operand(*random, spec.InputShape(), spec.format);
    const Twin y = Operand(*random, spec.OutputShape(), spec.format);
    const Twin dy = Operand(*random, spec.OutputShape(), spec.format);
    const Twin dx = Operand(*random, spec.InputShape(), spec.format);
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto pool = *CreateAdaptivePool(*cpu_, spec);
      ASSERT_EQ(pool->Forward(x.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(pool->Backward(dy.Of(dtype), dx.Of(dtype), /*accumulate=*/false), absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(dx.Agrees());
  }
}

TEST_F(Bfloat16Test, PickedChannelsAreThoseOfTheImage) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    ChannelPickSpec spec = {.begin = random->Between(0, 5), .groups = random->Between(1, 5)};
    spec.count = spec.groups * random->Between(1, 40);
    spec.channels = spec.begin + spec.count + random->Between(0, 5);
    spec.format = random->Format();
    random->SetThreads();
    const ImageExtents image = {random->Between(1, 9), random->Between(1, 9), 0};
    const int64_t n = random->Between(1, 4);
    const auto shape = [&](int64_t channels) {
      return SampleShape({image.height, image.width, channels}, spec.format).Prepend(n);
    };
    random->Name(StrCat(spec.groups, " groups of ", shape(spec.channels).ToString()));
    const Twin x = Operand(*random, shape(spec.channels), spec.format);
    const Twin y = Operand(*random, shape(spec.count), spec.format);
    const Twin dy = Operand(*random, shape(spec.count), spec.format);
    const Twin dx = Operand(*random, shape(spec.channels), spec.format);
    const bool accumulate = random->Flip();
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto pick = *CreateChannelPick(*cpu_, spec);
      ASSERT_EQ(pick->Forward(x.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(pick->Backward(dy.Of(dtype), dx.Of(dtype), accumulate), absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(dx.Agrees());
  }
}

TEST_F(Bfloat16Test, ResizedImagesAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    ResizeSpec spec = {.batch = random->Between(1, 5),
                       .height = random->Between(1, 14),
                       .width = random->Between(1, 14),
                       .channels = random->Between(1, 40),
                       .out_height = random->Between(1, 30),
                       .out_width = random->Between(1, 30),
                       .mode = random->Flip() ? ResizeMode::kNearest : ResizeMode::kLinear,
                       .format = random->Format()};
    random->Name(StrCat(spec.InputShape().ToString(), " to ", spec.OutputShape().ToString()));
    random->SetThreads();
    const Twin x = Operand(*random, spec.InputShape(), spec.format);
    const Twin y = Operand(*random, spec.OutputShape(), spec.format);
    const Twin dy = Operand(*random, spec.OutputShape(), spec.format);
    const Twin dx = Operand(*random, spec.InputShape(), spec.format);
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto resize = *CreateResize(*cpu_, spec);
      ASSERT_EQ(resize->Forward(x.Of(dtype), y.Of(dtype)), absl::OkStatus());
      ASSERT_EQ(resize->Backward(dy.Of(dtype), dx.Of(dtype), /*accumulate=*/false),
                absl::OkStatus());
    }
    ASSERT_TRUE(y.Agrees());
    ASSERT_TRUE(dx.Agrees());
  }
}

TEST_F(Bfloat16Test, NormalisedValuesAreRoundedOnceAndStatisticsNot) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const TensorFormat format = random->Format();
    const int64_t channels = random->Between(1, random->Seldom(8) ? 600 : 70);
    const Shape shape = RandomShape(*random, format, channels);
    const bool accumulate = random->Flip(), relu = random->Flip(), add = random->Flip();
    Name(*random, shape, format, accumulate);
    BatchNormSpec spec = {.batch = shape[0],
                          .positions = shape.NumElements() / (shape[0] * channels),
                          .channels = channels,
                          .format = format,
                          .add = add,
                          .relu = relu};
    const Twin addend = Operand(*random, shape, format), other_dy = Operand(*random, shape, format);
    const Twin x = Operand(*random, shape, format), y = Operand(*random, shape, format);
    const Twin dy = Operand(*random, shape, format), dx = Operand(*random, shape, format);
    const Twin inferred = Operand(*random, shape, format);
    const Twin slopes = Operand(*random, shape, format);
    const auto vector = [&](DType dtype = DType::kFloat32) {
      return Wide(*random, {channels}, dtype);
    };
    const Twin gamma = vector(), beta = vector(), running_mean = vector(), variance = vector();
    const Twin dgamma = vector(), dbeta = vector();
    const Twin means = vector(DType::kFloat64), variances = vector(DType::kFloat64);
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto norm = *CreateBatchNorm(*cpu_, spec);
      const testing::FencedWorkspace memory = random->Workspace(norm->workspace_bytes());
      const Workspace workspace = memory.Dirty();
      const BatchStatistics statistics = {means.Of(dtype), variances.Of(dtype)};
      const BatchNormParameters parameters = {{gamma.Of(dtype), 0}, {beta.Of(dtype), 0}};
      const RunningStatistics running = {{running_mean.Of(dtype), 0}, {variance.Of(dtype), 0}};
      const BatchNormGradients gradients = {dgamma.Of(dtype), dbeta.Of(dtype)};
      const Tensor &in = x.Of(dtype), &slope = dy.Of(dtype);
      const Tensor added = add ? addend.Of(dtype) : Tensor();
      const auto output = [&](const Twin& of) {
        return spec.cuts_by_output() ? of.Of(dtype) : Tensor();
      };
      ASSERT_EQ(norm->Statistics(in, statistics, workspace), absl::OkStatus());
      ASSERT_EQ(norm->Apply(in, statistics, parameters, added, y.Of(dtype), workspace),
                absl::OkStatus());
      ASSERT_EQ(norm->Infer(in, parameters, running, added, inferred.Of(dtype), workspace),
                absl::OkStatus());
      ASSERT_EQ(norm->Track(statistics, running), absl::OkStatus());
      ASSERT_EQ(norm->Gradients(in, output(y), slope, statistics, parameters, gradients, workspace),
                absl::OkStatus());
      ASSERT_EQ(
          norm->BackwardData(in, slope, statistics, parameters, gradients,
                             shape.NumElements() / channels, dx.Of(dtype), accumulate, workspace),
          absl::OkStatus());
      ASSERT_EQ(norm->BackwardInfer(in, output(inferred), other_dy.Of(dtype), parameters, running,
                                    slopes.Of(dtype), accumulate, workspace),
                absl::OkStatus());
    }
    for (const Twin& exact : {means, variances, running_mean, variance, dgamma, dbeta}) {
      ASSERT_TRUE(Same(exact));
    }
    for (const Twin& rounded : {y, inferred, dx, slopes, dy, other_dy})
      ASSERT_TRUE(rounded.Agrees());
  }
}

TEST_F(Bfloat16Test, ProductsAreRoundedOnce) {
  for (RandomCases cases(kCases); RandomCase* random = cases.Next();) {
    const bool large = random->Seldom(8);
    const auto size = [&] { return random->Between(1, large ? 200 : 40); };
    GemmSpec spec = {.m = size(),
                     .n = size(),
                     .k = size(),
                     .transpose_a = random->Flip(),
                     .transpose_b = random->Flip(),
                     .accumulate = random->Flip(),
                     .wide_result = random->Flip(),
                     .epilogue = {}};
    if (!spec.accumulate) {
      spec.epilogue = {.bias = random->Flip(), .relu = random->Flip()};
      spec.epilogue.scale = random->Flip(), spec.epilogue.add = random->Flip();
      spec.column_sums = !spec.transpose_b && random->Flip();
    }
    random->Name(spec.ToString());
    random->SetThreads();
    const auto matrix = [&](int64_t rows, int64_t columns, bool transposed) {
      return transposed ? Shape{columns, rows} : Shape{rows, columns};
    };
    const Twin a = Operand(*random, matrix(spec.m, spec.k, spec.transpose_a));
    const Twin b = Operand(*random, matrix(spec.k, spec.n, spec.transpose_b));
    const Shape shape = {spec.m, spec.n};
    const Twin c = spec.wide_result ? Wide(*random, shape) : Operand(*random, shape);
    const Twin addend = spec.wide_result ? Wide(*random, shape) : Operand(*random, shape);
    const Twin bias = Wide(*random, {spec.n}), scale = Wide(*random, {spec.n});
    const Twin sums = Wide(*random, {spec.n});
    for (const DType dtype : kTypes) {
      spec.dtype = dtype;
      const auto product = *CreateGemm(*cpu_, spec, "tile");  // amx sums in another order
      const testing::FencedWorkspace memory = random->Workspace(product->workspace_bytes());
      const EpilogueOperands operands = {.bias = bias.Of(dtype),
                                         .scale = scale.Of(dtype),
                                         .addend = addend.Of(dtype),
                                         .column_sums = sums.Of(dtype)};
      ASSERT_EQ(product->Run(a.Of(dtype), b.Of(dtype), c.Of(dtype), operands, memory.Dirty()),
                absl::OkStatus());
    }
    ASSERT_TRUE(spec.wide_result ? Same(c) : c.Agrees());
    ASSERT_TRUE(Same(sums));
  }
}

}  // namespace
}  // namespace dtnn
