// Every family trains: the gradients of a network with its structure and few filters.

#include <functional>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "models/testing/gradient_check.h"
#include "models/zoo/densenet.h"
#include "models/zoo/googlenet.h"
#include "models/zoo/inception.h"
#include "models/zoo/mobilenet.h"
#include "models/zoo/resnet.h"
#include "models/zoo/simple.h"
#include "models/zoo/vgg.h"
#include "tensor/parallel_for.h"

namespace dtnn {
namespace {

constexpr int64_t kClasses = 4;

struct Family {
  std::string name;
  ImageExtents sample;
  std::function<void(GraphBuilder&)> append;
  int64_t elements = 4;  // checked of each parameter
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

class FamilyTest : public ::testing::TestWithParam<Family> {
 protected:
  FamilyTest() { SetNumThreads(1); }  // layers this small are over before a second one begins
};
INSTANTIATE_TEST_SUITE_P(Zoo, FamilyTest, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param.name; });

TEST_P(FamilyTest, GradientsInBothFormats) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b(GetParam().name, format);
    b.Input(GetParam().sample);
    GetParam().append(b);
    const absl::StatusOr<Graph> graph = b.Build();
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_TRUE(testing::CheckNetworkGradients(*graph, {.elements = GetParam().elements}));
  }
}

}  // namespace
}  // namespace dtnn
