#include "models/zoo/zoo.h"

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

struct Row {
  const char* name;
  int64_t parameters, trainable;
  int ids;
};

constexpr Row kRows[] = {
    {"alexnet", 62378344, 62378344, 23},
    {"alexnet_imagenet", 62378344, 62378344, 23},
    {"alexnet_cifar10", 23272266, 23272266, 23},
    {"densenet121_cifar10", 7039818, 6956298, 426},
    {"densenet161_cifar10", 26702122, 26482378, 566},
    {"densenet169_cifar10", 12651594, 12493322, 594},
    {"densenet201_cifar10", 18333258, 18104330, 706},
    {"densenet_cifar10", 1031938, 1000618, 426},
    {"densenet121_imagenet", 647030568, 646947048, 426},
    {"densenet161_imagenet", 1406681032, 1406461288, 566},
    {"densenet169_imagenet", 1052635944, 1052477672, 594},
    {"densenet201_imagenet", 1218315048, 1218086120, 706},
    {"googlenet_cifar10", 7235754, 7217898, 220},
    {"googlenet_imagenet", 2524832904, 2524815048, 220},
    {"inceptionv3_cifar10", 23880874, 23878826, 130},
    {"mobilenetv1_cifar10", 4288586, 4266762, 86},
    {"resnet18_cifar10", 11453066, 11442442, 72},
    {"resnet20_cifar10", 279242, 277546, 77},
    {"resnet32_cifar10", 475018, 472426, 119},
    {"resnet34_cifar10", 21572362, 21554314, 128},
    {"resnet44_cifar10", 866570, 862186, 203},
    {"resnet50_cifar10", 27805066, 27747850, 178},
    {"resnet56_cifar10", 866906, 862490, 205},
    {"resnet101_cifar10", 46875530, 46766090, 348},
    {"resnet110_cifar10", 1747898, 1739450, 394},
    {"resnet152_cifar10", 62588298, 62432778, 518},
    {"resnet1202_cifar10", 19563514, 19473530, 4216},
    {"resnet18_imagenet", 11696232, 11686632, 69},
    {"resnet34_imagenet", 21815528, 21798504, 125},
    {"resnet50_imagenet", 25636456, 25583464, 175},
    {"resnet50v15_imagenet", 25636712, 25583592, 177},
    {"resnet101_imagenet", 44699496, 44594152, 345},
    {"resnet152_imagenet", 60412264, 60260840, 515},
    {"simplecnn", 101958, 101958, 10},
    {"simplecnn8", 202458, 202458, 12},
    {"simplecnn_v1", 149210, 149210, 10},
    {"simplemlp", 932362, 932362, 10},
    {"vgg1", 1060138, 1060138, 11},
    {"vgg2", 591274, 591274, 16},
    {"vgg3", 550570, 550570, 21},
    {"vgg3do", 550570, 550570, 25},
    {"vgg3do2", 550570, 550570, 25},
    {"vgg3dobn", 1345066, 1343146, 32},
    {"vgg11", 132863336, 132863336, 31},
    {"vgg11_imagenet", 132863336, 132863336, 31},
    {"vgg11_cifar10", 9750922, 9750922, 31},
    {"vgg11bn_cifar10", 9766026, 9758474, 41},
    {"vgg16", 138357544, 138357544, 41},
    {"vgg16_imagenet", 138357544, 138357544, 41},
    {"vgg16_cifar10", 15245130, 15245130, 41},
    {"vgg16bn_cifar10", 15266122, 15255626, 56},
    {"vgg19_imagenet", 143667240, 143667240, 47},
    // The literal networks mended.
    {"densenet121_imagenet_gap", 8054568, 7971048, 426},
    {"densenet161_imagenet_gap", 28889032, 28669288, 566},
    {"densenet169_imagenet_gap", 14299944, 14141672, 594},
    {"densenet201_imagenet_gap", 20235048, 20006120, 706},
    {"googlenet_imagenet_gap", 8250504, 8232648, 220},
    {"inceptionv3_imagenet", 24895624, 24893576, 130},
    // Adapting names without a data set.
    {"densenet", 1031938, 1000618, 426},
    {"densenet121", 8054568, 7971048, 426},
    {"densenet161", 28889032, 28669288, 566},
    {"densenet169", 14299944, 14141672, 594},
    {"densenet201", 20235048, 20006120, 706},
    {"googlenet", 8250504, 8232648, 220},
    {"inceptionv3", 24895624, 24893576, 130},
    // 94 convolutions of 17216 filters together, each normalised.
    {"inceptionv3_bn", 24895624 + 4 * 17216, 24893576 + 2 * 17216, 130 + 2 * 94},
    {"mobilenet", 4288586, 4266762, 86},
    {"mobilenetv1", 4288586, 4266762, 86},
    // Another head: 1024 * 512 + 512 and 512 * 10 + 10 for 1024 * 1024 + 1024 and 1024 * 10 + 10.
    {"mobilenet_tf", 4288586 - 529920, 4266762 - 529920, 88},
    {"resnet", 25636712, 25583592, 177},
    {"resnet18", 11696232, 11686632, 69},
    {"resnet20", 279242, 277546, 77},
    {"resnet32", 475018, 472426, 119},
    {"resnet34", 21815528, 21798504, 125},
    {"resnet44", 670794, 667306, 161},
    {"resnet50", 25636456, 25583464, 175},
    {"resnet50v15", 25636712, 25583592, 177},
    {"resnet56", 866906, 862490, 205},
    {"resnet101", 44699496, 44594152, 345},
    {"resnet110", 1747898, 1739450, 394},
    {"resnet152", 60412264, 60260840, 515},
    {"resnet1202", 19563514, 19473530, 4216},
    {"vgg", 138357544, 138357544, 41},
    {"vgg11bn", 9766026, 9758474, 41},
    {"vgg16bn", 15266122, 15255626, 56},
    {"vgg19", 143667240, 143667240, 47},
    // Those of torchvision: numel() of its parameters, and with them of the running statistics; its
    // modules, sums, products and flattenings, with an input and a softmax.
    {"mobilenet_v2", 3538984, 3504872, 155},
    {"mobilenet_v3_small", 2554968, 2542856, 159},
    {"mobilenet_v3_large", 5507432, 5483032, 189},
    {"efficientnet_b0", 5330564, 5288548, 242},
    {"squeezenet1_1", 1235496, 1235496, 68},
    {"regnet_y_400mf", 4371296, 4344144, 272},
    {"convnext_tiny", 28589128, 28589128, 140},
    {"shufflenet_v2_x0_5", 1374744, 1366792, 213},
    {"shufflenet_v2_x1_0", 2294784, 2278604, 213},
    {"shufflenet_v2_x1_5", 3527064, 3503624, 213},
    {"shufflenet_v2_x2_0", 7427712, 7393996, 213},
    // As a module of PyTorch: numel() of two convolutions and normalisations per level and
    // direction, four transposed convolutions and one of 1 x 1, for 21 classes.
    {"unet", 31050709, 31038933, 69},
    {"vgg16_bn", 138365992 + 2 * 4224, 138365992, 54},
    {"torchvision_densenet121", 7978856 + 2 * 41824, 7978856, 429},
    {"torchvision_googlenet", 6624904 + 2 * 7280, 6624904, 199},
    {"torchvision_resnet18", 11699112, 11689512, 71},
    {"torchvision_resnet34", 21814696, 21797672, 127},
    {"torchvision_resnet50", 25610152, 25557032, 177},
    {"torchvision_resnet101", 44654504, 44549160, 347},
    {"torchvision_resnet152", 60344232, 60192808, 517},
};

class ZooCountsTest : public ::testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Models, ZooCountsTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

TEST_P(ZooCountsTest, AsListedInBothFormats) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const absl::StatusOr<Graph> graph = BuildModel(GetParam().name, {.format = format});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->num_parameters(), GetParam().parameters);
    EXPECT_EQ(graph->num_trainable_parameters(), GetParam().trainable);
    EXPECT_EQ(graph->nodes().size(), GetParam().ids);
  }
}

// Those of torchvision's modules, where they are not 1e-5: a wrong one changes no size.
TEST(ZooTest, NormalizationsHaveTheEpsilonOfTorchvision) {
  const std::map<std::string, double> other = {{"mobilenet_v3_small", 1e-3},
                                               {"mobilenet_v3_large", 1e-3},
                                               {"torchvision_googlenet", 1e-3},
                                               {"convnext_tiny", 1e-6}};
  for (const std::string name :
       {"mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
        "regnet_y_400mf", "convnext_tiny", "shufflenet_v2_x1_0", "vgg16_bn",
        "torchvision_densenet121", "torchvision_googlenet", "torchvision_resnet50"}) {
    const Graph graph = *BuildModel(name, {});
    const auto found = other.find(name);
    int normalizations = 0;
    for (const Node& node : graph.nodes()) {
      if (node.layer->type_name().find("Normalization") == std::string_view::npos) continue;
      const Attributes attributes = node.layer->attributes();
      EXPECT_EQ(AttributeReader(attributes).Real("epsilon"),
                found == other.end() ? 1e-5 : found->second)
          << name << ", " << node.name;
      ++normalizations;
    }
    EXPECT_GT(normalizations, 0) << name;
  }
}

TEST(ZooTest, EveryModelHasACount) {
  std::set<std::string> counted, built;
  for (const Row& row : kRows) counted.insert(row.name);
  for (const ModelInfo& model : ZooModels()) built.insert(std::string(model.name));
  EXPECT_EQ(counted, built) << "a new model needs a row in kRows";
  EXPECT_EQ(ZooModels().size(), std::size(kRows)) << "a name stands twice";
}

struct Adapted {
  const char* name;
  ModelData data;
  int64_t parameters;
};

constexpr ModelData kMnist = kMnistData, kCifar10 = kCifar10Data, kImageNet = kImageNetData;
constexpr ModelData kTiny = {{64, 64, 3}, 10}, kStl10 = {{96, 96, 3}, 10};

// Where a literal name has the same structure, its count; elsewhere that of another data set and
// the difference in the first and last layer.
constexpr Adapted kAdapted[] = {
    {"simplecnn", kCifar10, 132750},
    {"alexnet", kCifar10, 23272266},
    {"densenet121", kCifar10, 7039818},
    {"densenet161", kCifar10, 26702122},
    {"densenet169", kCifar10, 12651594},
    {"densenet201", kCifar10, 18333258},
    {"densenet121", kMnist, 7039818 - 9 * 2 * 64},
    {"densenet121", kStl10, 7039818},
    {"googlenet", kCifar10, 7235754},
    {"inceptionv3", kCifar10, 23880874},
    {"inceptionv3", kImageNet, 24895624},
    {"inceptionv3_bn", kCifar10, 23880874 + 4 * 17216},
    {"mobilenetv1", kImageNet, 4288586 + 1025 * 990},
    {"mobilenet_v2", kCifar10, 3538984 - 1281 * 990},
    {"mobilenet_v3_small", kStl10, 2554968 - 1025 * 990},
    {"efficientnet_b0", kMnist, 5330564 - 1281 * 990 - 2 * 9 * 32},
    {"squeezenet1_1", kCifar10, 1235496 - 513 * 990},
    {"regnet_y_400mf", kCifar10, 4371296 - 441 * 990},
    {"convnext_tiny", kCifar10, 28589128 - 769 * 990 - 96 * 3 * (16 - 4)},
    {"shufflenet_v2_x1_0", kCifar10, 2294784 - 1025 * 990},
    {"resnet18", kCifar10, 11453066},
    {"resnet20", kImageNet, 279242 + 65 * 990},
    {"resnet34", kCifar10, 21572362},
    {"resnet50", kCifar10, 27805066},
    {"resnet50", kTiny, 27805066},
    {"resnet50", kStl10, 25636456 - 2049 * 990},
    {"resnet50v15", kCifar10, 27805066},
    {"resnet101", kCifar10, 46875530},
    {"resnet152", kCifar10, 62588298},
    {"vgg11", kCifar10, 9750922},
    {"vgg11bn", kImageNet, 132863336 + 4 * (2752 + 2 * 4096)},
    {"vgg16", kCifar10, 15245130},
    {"vgg16bn", kCifar10, 15266122},
    {"vgg1", kImageNet, 1060138 + 128 * 32 * (112 * 112 - 16 * 16) + 129 * 990},
};

TEST(ZooTest, NamesWithoutADataSetAdapt) {
  for (const Adapted& row : kAdapted) {
    const absl::StatusOr<Graph> graph =
        BuildModel(row.name, {.sample = row.data.sample, .classes = row.data.classes});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->num_parameters(), row.parameters)
        << row.name << " on " << row.data.sample.height << "x" << row.data.sample.width;
    EXPECT_EQ(graph->output_shape(), (Shape{row.data.classes}));
  }
}

TEST(ZooTest, ANameWithASuffixIsLiteralAndOneWithoutAdapts) {
  for (const ModelInfo& model : ZooModels()) {
    const bool suffix = model.name.find("_cifar10") != std::string_view::npos ||
                        model.name.find("_imagenet") != std::string_view::npos;
    EXPECT_NE(model.adapts, suffix) << model.name;
  }
}

std::string LastLayer(const Graph& graph) {
  return std::string(graph.nodes().back().layer->type_name());
}

// Ids and names of all other layers stay what they are, and with them the keys of weights.
TEST(ZooTest, AdaptingNetworksEndInWhatTheLossWants) {
  const std::pair<FinalActivation, std::string> ends[] = {{FinalActivation::kSoftmax, "Softmax"},
                                                          {FinalActivation::kSigmoid, "Sigmoid"},
                                                          {FinalActivation::kOther, ""}};
  for (const ModelInfo& model : ZooModels()) {
    const Graph own = *BuildModel(model.name, {});
    EXPECT_EQ(LastLayer(own), "Softmax") << model.name;
    for (const auto& [activation, type] : ends) {
      const Graph graph = *BuildModel(model.name, {.final_activation = activation});
      const std::string logits = model.name == "unet"                   ? "Conv2D"
                                 : model.name.starts_with("squeezenet") ? "Flatten"
                                                                        : "FC";
      const std::string last = type.empty() ? logits : type;
      EXPECT_EQ(LastLayer(graph), model.adapts ? last : "Softmax") << model.name;
      EXPECT_EQ(graph.output_shape(), own.output_shape());
      EXPECT_EQ(graph.num_parameters(), own.num_parameters());
      const bool shorter = model.adapts && activation == FinalActivation::kOther;
      ASSERT_EQ(graph.nodes().size(), own.nodes().size() - (shorter ? 1 : 0)) << model.name;
      for (size_t i = 0; i + 1 < graph.nodes().size(); ++i) {
        EXPECT_EQ(graph.nodes()[i].id, own.nodes()[i].id);
      }
    }
  }
}

TEST(ZooTest, ASingleOutputIsAQuantityOrALabel) {
  for (FinalActivation activation : {FinalActivation::kOther, FinalActivation::kSigmoid}) {
    const absl::StatusOr<Graph> graph = BuildModel(
        "simplecnn",
        {.sample = ImageExtents{80, 80, 1}, .classes = 1, .final_activation = activation});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->output_shape(), Shape{1});
  }
}

TEST(ZooTest, MultiplyAddsOfTheForwardPass) {
  // 28*28*9*4 + 28*28*36*8 + 1568*128 + 128*10
  EXPECT_EQ(BuildModel("simplecnn8", {})->multiply_adds(), 456000);
  EXPECT_EQ(BuildModel("simplecnn_v1", {})->multiply_adds(),
            26 * 26 * 9 * 4 + 24 * 24 * 36 * 8 + 1152 * 128 + 128 * 10);
  EXPECT_EQ(BuildModel("vgg16", {})->multiply_adds(), 15470264320);
  EXPECT_EQ(BuildModel("resnet50v15", {})->multiply_adds(), 4089184256);
}

// VGG's five pools leave nothing of an image of 28x28, and the sides of a U-Net's are multiples of
// 16: the exceptions.
TEST(ZooTest, AdaptingNetworksFitTheUsualImages) {
  for (const ModelInfo& model : ZooModels()) {
    if (!model.adapts) continue;
    for (const ModelData& data : {kMnist, kCifar10, kTiny, kStl10, kImageNet}) {
      const absl::Status status =
          BuildModel(model.name, {.sample = data.sample, .classes = data.classes}).status();
      const std::string name(model.name);
      if (data.sample == kMnist.sample &&
          std::set<std::string>{"vgg", "vgg11", "vgg11bn", "vgg16", "vgg16bn", "vgg16_bn", "vgg19"}
              .contains(name)) {
        EXPECT_NE(status.message().find("(MaxPool2D)"), std::string::npos) << status;
      } else if (data.sample == kMnist.sample && name == "unet") {
        EXPECT_NE(status.message().find("multiples of 16"), std::string::npos) << status;
      } else {
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST(ZooTest, LiteralModelsNameBothShapes) {
  const absl::Status status =
      BuildModel("vgg16_cifar10", {.sample = ImageExtents{28, 28, 1}, .classes = 10}).status();
  EXPECT_EQ(
      status.message(),
      "model vgg16_cifar10 takes samples of 32x32x3 (height x width x channels) and 10 "
      "classes, but the data set has 28x28x1 and 10; networks without a data set in their names, "
      "such as resnet20, adapt to the data");
}

TEST(ZooTest, UNetNamesTheSideThatItCannotHalve) {
  const auto message = [](const ImageExtents& sample) {
    return std::string(BuildModel("unet", {.sample = sample, .classes = 2}).status().message());
  };
  EXPECT_EQ(message({28, 32, 1}),
            "model unet takes images whose sides are multiples of 16, but the height of 28x32x1 "
            "(height x width x channels) is 28; pad, crop or resize the images");
  EXPECT_EQ(message({32, 40, 3}),
            "model unet takes images whose sides are multiples of 16, but the width of 32x40x3 "
            "(height x width x channels) is 40; pad, crop or resize the images");
  EXPECT_EQ(message({16, 48, 3}), "");
}

TEST(ZooTest, UnknownNamesAreNotFound) {
  EXPECT_EQ(BuildModel("vgg61", {}).status().code(), absl::StatusCode::kNotFound);
}

TEST(ZooTest, ASampleTooSmallNamesTheLayer) {
  const absl::Status status = BuildModel("simplecnn", {.sample = ImageExtents{1, 1, 1}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("model simplecnn, layer 3 (MaxPool2D)"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace dtnn
