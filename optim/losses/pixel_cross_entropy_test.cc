// Categorical cross entropy of networks whose output is an image.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/testing/loss_check.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::LossResult;
using testing::Put;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

constexpr int64_t kImages = 2, kHeight = 2, kWidth = 3, kPixels = kHeight * kWidth;
constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};
const Doubles kLabels = {0, 1, 2, 2, kIgnoredPixel, 0, 1, 1, kIgnoredPixel, 0, 2, 1};

Tensor Labels(const Doubles& labels = kLabels) {
  return TensorOf(DType::kInt32, {int64_t(labels.size()) / kPixels, kHeight, kWidth}, labels);
}

Tensor ImagesOf(DType dtype, int64_t classes, TensorFormat format, const Doubles& nhwc) {
  const int64_t n = int64_t(nhwc.size()) / (kPixels * classes);
  Doubles values(nhwc.size());
  for (int64_t i = 0; i < n * kPixels; ++i) {
    for (int64_t c = 0; c < classes; ++c) {
      const int64_t plane = (i / kPixels * classes + c) * kPixels + i % kPixels;
      values[size_t(format == TensorFormat::kNHWC ? i * classes + c : plane)] =
          nhwc[size_t(i * classes + c)];
    }
  }
  return TensorOf(dtype, SampleShape({kHeight, kWidth, classes}, format).Prepend(n), values);
}

// Small multiples of 1/4, as the figures of PyTorch below were made of.
Doubles Logits() {
  Doubles values;
  for (int n = 0; n < kImages; ++n) {
    for (int h = 0; h < kHeight; ++h) {
      for (int w = 0; w < kWidth; ++w) {
        for (int c = 0; c < 3; ++c) {
          values.push_back(((7 * n + 5 * c * c + 3 * h + 2 * w) % 11 - 5) / 4.0);
        }
      }
    }
  }
  return values;
}

Doubles SoftmaxOf(Doubles x, int64_t classes) {
  for (size_t i = 0; i < x.size(); i += size_t(classes)) {
    double sum = 0;
    for (size_t c = 0; c < size_t(classes); ++c) sum += std::exp(x[i + c]);
    for (size_t c = 0; c < size_t(classes); ++c) x[i + c] = std::exp(x[i + c]) / sum;
  }
  return x;
}

// The definition, over rows of logits.
Doubles Reference(const Doubles& x, int64_t classes, const Doubles& labels,
                  const CategoricalCrossEntropyOptions& options) {
  const Doubles p = SoftmaxOf(x, classes);
  Doubles losses;
  for (size_t n = 0; n < labels.size() / kPixels; ++n) {
    double sum = 0, labelled = 0;
    for (size_t i = n * kPixels; i < (n + 1) * kPixels; ++i) {
      if (labels[i] < 0) continue;
      labelled += 1;
      for (size_t c = 0; c < size_t(classes); ++c) {
        const double weight = options.class_weights.empty() ? 1 : options.class_weights[c];
        const double target = (double(c) == labels[i] ? 1 - options.label_smoothing : 0) +
                              options.label_smoothing / double(classes);
        sum -= weight * target * std::log(p[i * size_t(classes) + c]);
      }
    }
    losses.push_back(labelled == 0 ? 0 : sum / labelled);
  }
  return losses;
}

struct Case {
  const char* name;
  CategoricalCrossEntropyOptions options;
  // torch.nn.functional.cross_entropy(reduction="none", ignore_index=-1) in float64, summed over
  // the pixels of an image and divided by the 5 that have a label; gradients of the sum of both.
  Doubles losses, first_pixel, last_pixel;
};

const Case kCases[] = {
    {"Plain",
     {},
     {1.57550058278401, 1.11570189071122},
     {-0.185691882056895, 0.0499402386972508, 0.135751643359644},
     {0.03923974087293, -0.0630398467915411, 0.023800105918611}},
    {"Smoothed",
     {.label_smoothing = 0.1},
     {1.55550058278401, 1.13736855737788},
     {-0.172358548723561, 0.0432735720305841, 0.129084976692977},
     {0.0325730742062634, -0.0497065134582078, 0.0171334392519444}},
    {"Weighted",
     {.class_weights = {0.5, 1, 2}},
     {2.10278942625509, 1.13278689058298},
     {-0.0928459410284474, 0.0249701193486254, 0.067875821679822},
     {0.03923974087293, -0.0630398467915411, 0.023800105918611}},
    {"Both",
     {.label_smoothing = 0.1, .class_weights = {0.5, 1, 2}},
     {2.05548555162105, 1.17134008877433},
     {-0.0852253998322404, 0.0216328019284421, 0.0635925979037983},
     {0.0365604032208122, -0.0474238442380668, 0.0108634410172546}},
};

class PixelCrossEntropyCases : public ::testing::TestWithParam<Case> {
 protected:
  const CategoricalCrossEntropy loss_{GetParam().options};
};

TEST_P(PixelCrossEntropyCases, LossesAndGradientsAreThoseOfPyTorch) {
  for (const TensorFormat format : kFormats) {
    const Tensor x = ImagesOf(DType::kFloat64, 3, format, Logits());
    const LossResult result = testing::RunLoss(loss_, x, Labels(), true, 1, format);
    ASSERT_EQ(result.status, absl::OkStatus());
    const size_t channel = format == TensorFormat::kNHWC ? 1 : kPixels;
    const size_t last = format == TensorFormat::kNHWC ? 11 * 3 : 3 * kPixels + 5;
    const size_t ignored = format == TensorFormat::kNHWC ? 4 * 3 : 4;
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(result.losses[i], GetParam().losses[i], 1e-13);
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(result.gradient[c * channel], GetParam().first_pixel[c], 1e-14) << c;
      EXPECT_NEAR(result.gradient[last + c * channel], GetParam().last_pixel[c], 1e-14) << c;
      EXPECT_EQ(result.gradient[ignored + c * channel], 0) << c;
    }
    const Doubles expected = Values(ImagesOf(DType::kFloat64, 3, format, SoftmaxOf(Logits(), 3)));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(result.probabilities[i], expected[i], 1e-15) << i;
    }
  }
}

TEST_P(PixelCrossEntropyCases, Gradients) {
  for (const TensorFormat format : kFormats) {
    const Tensor logits = ImagesOf(DType::kFloat64, 3, format, Logits());
    EXPECT_TRUE(testing::CheckLossGradient(loss_, logits, Labels(), true, format));
    const Tensor p = ImagesOf(DType::kFloat64, 3, format, SoftmaxOf(Logits(), 3));
    EXPECT_TRUE(testing::CheckLossGradient(loss_, p, Labels(), false, format));
  }
}

TEST_P(PixelCrossEntropyCases, EqualsReferenceInEveryTypeFromLogitsAndProbabilities) {
  const Doubles expected = Reference(Logits(), 3, kLabels, GetParam().options);
  for (const TensorFormat format : kFormats) {
    for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kBfloat16}) {
      const double tolerance = dtype == DType::kFloat64 ? 1e-14 : 1e-6;
      const Tensor x = ImagesOf(dtype, 3, format, Logits());  // bfloat16 has them exactly
      const LossResult result = testing::RunLoss(loss_, x, Labels(), true, 1, format);
      ASSERT_EQ(result.status, absl::OkStatus());
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(result.losses[i], expected[i], tolerance);
      if (dtype == DType::kBfloat16) continue;
      const Tensor p = ImagesOf(dtype, 3, format, SoftmaxOf(Logits(), 3));
      const LossResult of_p = testing::RunLoss(loss_, p, Labels(), false, 1, format);
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(of_p.losses[i], expected[i], tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PixelCrossEntropyCases, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(PixelCrossEntropyTest, AnImageWithoutLabelsHasNoLossAndNoGradient) {
  Doubles labels = kLabels;
  std::fill_n(labels.begin(), kPixels, kIgnoredPixel);
  for (const bool from_logits : {true, false}) {
    const Tensor x = ImagesOf(DType::kFloat64, 3, TensorFormat::kNHWC, SoftmaxOf(Logits(), 3));
    const LossResult result =
        testing::RunLoss(CategoricalCrossEntropy(), x, Labels(labels), from_logits, 1);
    EXPECT_EQ(result.losses[0], 0);
    EXPECT_GT(result.losses[1], 0);
    for (size_t i = 0; i < kPixels * 3; ++i) EXPECT_EQ(result.gradient[i], 0) << i;
    EXPECT_NE(result.gradient[kPixels * 3 + 1], 0);
  }
}

TEST(PixelCrossEntropyTest, AnIgnoredPixelThatIsNaNChangesNothing) {
  Doubles logits = Logits();
  for (size_t c = 0; c < 3; ++c) logits[4 * 3 + c] = std::nan("");
  const auto run = [](const Doubles& x) {
    return testing::RunLoss(CategoricalCrossEntropy(),
                            ImagesOf(DType::kFloat64, 3, TensorFormat::kNHWC, x), Labels(), true,
                            1);
  };
  EXPECT_EQ(run(logits).losses, run(Logits()).losses);
  EXPECT_EQ(run(logits).gradient, run(Logits()).gradient);
}

TEST(PixelCrossEntropyTest, SameOnAnyNumberOfThreads) {
  const Tensor x = RandomTensor(DType::kFloat32, {3, 40, 50, 5}, 1);
  Doubles labels;
  for (int i = 0; i < 3 * 40 * 50; ++i) labels.push_back(i * 7 % 6 - 1);
  const Tensor targets = TensorOf(DType::kInt32, {3, 40, 50}, labels);
  std::vector<LossResult> results;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    results.push_back(testing::RunLoss(CategoricalCrossEntropy(), x, targets, true, 1));
    EXPECT_EQ(results.back().losses, results[0].losses);
    EXPECT_EQ(results.back().gradient, results[0].gradient);
  }
  SetNumThreads(2);
}

void ExpectSameOn(DeviceContext& gpu) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  const CategoricalCrossEntropy loss({.label_smoothing = 0.1, .class_weights = {0.5, 1, 2}});
  for (const TensorFormat format : kFormats) {
    for (const bool from_logits : {true, false}) {
      const Tensor x = ImagesOf(DType::kFloat32, 3, format, SoftmaxOf(Logits(), 3));
      const auto run = [&](DeviceContext& context) {
        const auto op = *loss.Bind({.device = &context,
                                    .batch = kImages + 1,
                                    .outputs = 3,
                                    .from_logits = from_logits,
                                    .image = {kHeight, kWidth, 3},
                                    .format = format});
        const Tensor losses = Put(context, ZeroTensor(DType::kFloat32, {kImages}));
        const Tensor y = Put(context, ZeroTensor(DType::kFloat32, x.shape()));
        const Tensor dx = Put(context, ZeroTensor(DType::kFloat32, x.shape()));
        EXPECT_EQ(op->Run(Put(context, x), Put(context, Labels()), y, losses, dx, 0.25),
                  absl::OkStatus());
        return std::vector<Tensor>{Get(context, losses), Get(context, y), Get(context, dx)};
      };
      const std::vector<Tensor> expected = run(*cpu), got = run(gpu);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(Close(got[i], expected[i], 1e-6)) << i;
    }
  }
}

TEST(PixelCrossEntropyTest, SameOnASimulatedGpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, Device::Simulated(0));
  ExpectSameOn(*gpu);
}
TEST(PixelCrossEntropyTest, SameOnCuda) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameOn(*gpu);
}

TEST(PixelCrossEntropyTest, SaysWhatDoesNotFit) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const LossContext context = {
      .device = device.get(), .batch = 2, .outputs = 3, .image = {kHeight, kWidth, 3}};
  EXPECT_EQ(CategoricalCrossEntropy({.class_weights = {1, 2}}).Bind(context).status().message(),
            "there are 2 class weights for 3 classes; expected one for each");
  const auto op = *CategoricalCrossEntropy().Bind(context);
  const Tensor x = ImagesOf(DType::kFloat32, 3, TensorFormat::kNHWC, Logits());
  const Tensor losses = ZeroTensor(DType::kFloat32, {kImages});
  const Tensor wrong = ZeroTensor(DType::kInt32, {kImages, kWidth, kHeight});
  EXPECT_EQ(
      op->Run(x, wrong, Tensor(), losses, Tensor(), 1).message(),
      "pixel loss: labels has shape (2, 3, 2) of int32 on cpu; expected (2, 2, 3) of int32 on cpu");
}

}  // namespace
}  // namespace dtnn
