// Networks with the structure of every family and few filters: that they train, and that the
// weights of one tensor format serve the other.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/parameters/weights.h"
#include "models/testing/gradient_check.h"
#include "models/testing/plan_session.h"
#include "models/zoo/convnext.h"
#include "models/zoo/densenet.h"
#include "models/zoo/googlenet.h"
#include "models/zoo/inception.h"
#include "models/zoo/inverted_residual.h"
#include "models/zoo/mobilenet.h"
#include "models/zoo/regnet.h"
#include "models/zoo/resnet.h"
#include "models/zoo/shufflenet.h"
#include "models/zoo/simple.h"
#include "models/zoo/squeezenet.h"
#include "models/zoo/vgg.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

constexpr int64_t kClasses = 4;

struct Family {
  std::string name;
  ImageExtents sample;
  std::function<void(GraphBuilder&)> append;  // up to the softmax
  int64_t elements = 4;                       // checked of each parameter
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

const Family kFamilies[] = {
    {"ResNetBasic",
     {8, 8, 2},
     [](GraphBuilder& b) {
       AppendResNet(b, {.blocks = {1, 2}, .width = 3, .hidden_layer = true}, kClasses);
     }},
    {"ResNetBasicProjected",
     {8, 7, 2},
     [](GraphBuilder& b) {
       AppendResNet(b, {.blocks = {1, 1}, .width = 3, .project_first_stage = true}, kClasses);
     }},
    {"ResNetBottleneck",
     {16, 16, 3},
     [](GraphBuilder& b) {
       AppendResNet(b,
                    {.block = ResNetBlock::kBottleneck,
                     .blocks = {2, 1},
                     .width = 2,
                     .stem = ResNetStem::kConv7,
                     .project_first_stage = true},
                    kClasses);
     }},
    {"ResNetV15",
     {16, 16, 3},
     [](GraphBuilder& b) {
       AppendResNet(b,
                    {.block = ResNetBlock::kBottleneck,
                     .blocks = {1, 1},
                     .width = 2,
                     .stem = ResNetStem::kConv7Relu,
                     .project_first_stage = true},
                    kClasses);
     }},
    {"DenseNet",
     {8, 8, 3},
     [](GraphBuilder& b) {
       AppendDenseNet(b, {.growth = 2, .blocks = {3, 2}}, kClasses);
     }},
    {"GoogLeNet",
     {6, 6, 3},
     [](GraphBuilder& b) { AppendGoogLeNet(b, {.width_divisor = 16}, kClasses); },
     1},
    {"DenseNetOfTorchvision",
     {9, 8, 3},
     [](GraphBuilder& b) {
       AppendDenseNet(
           b, {.growth = 2, .blocks = {2, 1}, .stem = DenseNetStem::kConv7, .inputs_first = true},
           kClasses);
     }},
    {"GoogLeNetOfTorchvision",
     {10, 10, 3},
     [](GraphBuilder& b) {
       AppendTorchvisionGoogLeNet(b, /*small_images=*/true, /*width_divisor=*/16, kClasses);
     },
     1},
    {"InceptionV3",
     {15, 15, 3},
     [](GraphBuilder& b) {
       AppendInceptionV3(b, {.small_images = true, .swapped_padding = true, .width_divisor = 32},
                         kClasses);
     },
     1},
    {"InceptionV3Normalised",
     {11, 11, 3},
     [](GraphBuilder& b) {
       AppendInceptionV3(b, {.small_images = true, .normalised = true, .width_divisor = 32},
                         kClasses);
     },
     1},
    {"MobileNet",
     {32, 32, 3},
     [](GraphBuilder& b) { AppendMobileNet(b, {.width_divisor = 16}, kClasses); },
     2},
    {"MobileNetTensorFlow",
     {32, 32, 3},
     [](GraphBuilder& b) {
       AppendMobileNet(b, {.tensorflow = true, .width_divisor = 16}, kClasses);
     },
     2},
    {"InvertedResiduals",
     {9, 8, 3},
     [](GraphBuilder& b) {
       AppendInvertedResiduals(
           b,
           {.blocks = {{3, 3, 4, 3, 1, 2}, {4, 8, 4, 5, 1, 0}, {4, 8, 5, 3, 2, 3}},
            .stem = 3,
            .last = 6,
            .hidden = 5,
            .activation = ActivationKind::kHardSwish},
           kClasses);
     }},
    {"InvertedResidualsWithSilu",
     {9, 8, 3},
     [](GraphBuilder& b) {
       const ActivationKind silu = ActivationKind::kSilu, gate = ActivationKind::kSigmoid;
       AppendInvertedResiduals(b,
                               {.blocks = {{3, 6, 3, 3, 1, 2, silu, silu, gate}},
                                .stem = 3,
                                .last = 6,
                                .activation = silu},
                               kClasses);
     }},
    {"SqueezeNet",
     {35, 35, 3},
     [](GraphBuilder& b) { AppendSqueezeNet(b, {.width_divisor = 16}, kClasses); },
     1},
    {"ConvNext",
     {17, 16, 3},
     [](GraphBuilder& b) {
       AppendConvNext(b, {.blocks = {1, 2}, .width = 4}, kClasses);
     }},
    {"ShuffleNet",
     {9, 8, 3},
     [](GraphBuilder& b) {
       AppendShuffleNet(
           b, {.stem = 4, .blocks = {2, 1}, .widths = {6, 8}, .last = 5, .small = true}, kClasses);
     }},
    {"RegNetY",
     {9, 8, 3},
     [](GraphBuilder& b) {
       AppendRegNetY(b, {.stages = {{2, 4}, {1, 6}}, .group_width = 2, .stem = 4}, kClasses);
     }},
    {"Vgg",
     {8, 8, 3},
     [](GraphBuilder& b) {
       AppendVgg(b, {.groups = {{1, 3}, {2, 4}}, .hidden = 6}, kClasses);
     }},
    {"VggNormalised",
     {8, 8, 3},
     [](GraphBuilder& b) {
       AppendVgg(b, {.groups = {{1, 3}, {2, 4}}, .hidden = 6, .batch_norm = true}, kClasses);
     }},
    {"ShortVgg",
     {8, 8, 3},
     [](GraphBuilder& b) {
       AppendShortVgg(b, {.dropout_rates = {0.2}, .hidden = 6, .head_dropout_rate = 0.2}, kClasses);
     }},
    {"ShortVggNormalised",
     {8, 8, 3},
     [](GraphBuilder& b) {
       AppendShortVgg(b, {.dropout_rates = {0.2}, .hidden = 6, .batch_norm = true}, kClasses);
     }},
    {"SimpleCnn8", {8, 8, 1}, [](GraphBuilder& b) { AppendSimpleCnn8(b, kClasses); }},
    {"SimpleCnnV1", {8, 8, 1}, [](GraphBuilder& b) { AppendSimpleCnnV1(b, kClasses); }},
};

Tensor ToNchw(const Tensor& x) {
  const Shape& s = x.shape();
  const Tensor y = testing::ZeroTensor(DType::kFloat64, {s[0], s[3], s[1], s[2]});
  double* out = y.data<double>();
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < s[3]; ++c) {
      for (int64_t pixel = n * s[1] * s[2]; pixel < (n + 1) * s[1] * s[2]; ++pixel) {
        *out++ = x.data<double>()[pixel * s[3] + c];
      }
    }
  }
  return y;
}

class FamilyTest : public ::testing::TestWithParam<Family> {
 protected:
  FamilyTest() { SetNumThreads(1); }  // layers this small are over before a second one begins

  Graph Build(TensorFormat format) const {
    GraphBuilder b(GetParam().name, format);
    b.Input(GetParam().sample);
    GetParam().append(b);
    b.Softmax();
    const absl::StatusOr<Graph> graph = b.Build();
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *graph;
  }
};
INSTANTIATE_TEST_SUITE_P(Zoo, FamilyTest, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param.name; });

TEST_P(FamilyTest, GradientsInBothFormats) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_TRUE(testing::CheckNetworkGradients(Build(format), {.elements = GetParam().elements}));
  }
}

TEST_P(FamilyTest, WeightsOfOneFormatServeTheOther) {
  const Graph nhwc = Build(TensorFormat::kNHWC), nchw = Build(TensorFormat::kNCHW);
  testing::PlanSession saved(nhwc, 2, DType::kFloat64, /*training=*/false);
  testing::PlanSession loaded(nchw, 2, DType::kFloat64, /*training=*/false);
  const Tensor& values = saved.store->all_values();
  const Tensor noise = testing::RandomTensor(DType::kFloat64, values.shape(), 3);
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    values.data<double>()[i] += 0.1 * noise.data<double>()[i];
  }
  saved.store->MarkChanged();
  const Tensor x = testing::RandomTensor(DType::kFloat64, nhwc.input_shape().Prepend(2), 5);
  ASSERT_TRUE(saved.plan->Forward(x).ok());
  const std::vector<double> expected = testing::Values(saved.plan->predictions());

  const std::string file = ::testing::TempDir() + "/" + GetParam().name + ".npz";
  ASSERT_TRUE(SaveWeights(file, nhwc, *saved.store, *saved.device).ok());
  ASSERT_TRUE(loaded.plan->Forward(ToNchw(x)).ok());
  EXPECT_FALSE(testing::Close(testing::Values(loaded.plan->predictions()), expected, 1e-6));
  const auto status = LoadWeights(file, nchw, *loaded.store, *loaded.device).status();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(loaded.plan->Forward(ToNchw(x)).ok());
  EXPECT_TRUE(testing::Close(testing::Values(loaded.plan->predictions()), expected, 1e-9));
}

}  // namespace
}  // namespace dtnn
