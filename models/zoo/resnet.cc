#include "models/zoo/resnet.h"

#include <utility>

namespace dtnn {
namespace {

using Path = GraphBuilder::Path;

void ConvBn(GraphBuilder& b, int64_t filters, Pair kernel, Pair stride, Pair padding, bool bias) {
  b.Conv2d(filters, {.kernel = kernel,
                     .stride = stride,
                     .padding = padding,
                     .bias = bias,
                     .initializer = InitializerKind::kHeUniform});
  b.BatchNorm();
}

int64_t Expansion(ResNetBlock block) { return block == ResNetBlock::kBottleneck ? 4 : 1; }

void AppendBlock(GraphBuilder& b, const ResNetOptions& options, int64_t filters, int64_t stride,
                 bool project) {
  const ResNetBlock block = options.block;
  const bool bias = options.bias;
  const Path basic = [=](GraphBuilder& p) {
    ConvBn(p, filters, 3, stride, 1, bias);
    p.Relu();
    ConvBn(p, filters, 3, 1, 1, bias);
  };
  const Path bottleneck = [=](GraphBuilder& p) {
    ConvBn(p, filters, 1, 1, 0, bias);
    p.Relu();
    ConvBn(p, filters, 3, stride, 1, bias);
    p.Relu();
    ConvBn(p, 4 * filters, 1, 1, 0, bias);
  };
  const Path projection = [=](GraphBuilder& p) {
    ConvBn(p, Expansion(block) * filters, 1, stride, 0, bias);
  };
  b.Add({block == ResNetBlock::kBasic ? basic : bottleneck,
         project ? projection : GraphBuilder::Identity()});
  b.Relu();
}

void AppendStem(GraphBuilder& b, const ResNetOptions& options) {
  if (options.stem == ResNetStem::kConv3) {
    ConvBn(b, options.width, 3, 1, 1, options.bias);
    return;
  }
  b.Conv2d(options.width, {.kernel = 7,
                           .stride = 2,
                           .padding = 3,
                           .bias = options.bias,
                           .initializer = InitializerKind::kHeUniform});
  if (options.stem == ResNetStem::kConv7Relu) b.BatchNorm().Relu();
  b.MaxPool2d({.window = 3, .stride = 2, .padding = 1});
}

}  // namespace

void AppendResNet(GraphBuilder& b, const ResNetOptions& options, int64_t outputs) {
  AppendStem(b, options);
  int64_t filters = options.width;
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    if (stage > 0) filters *= 2;
    for (int i = 0; i < options.blocks[stage]; ++i) {
      const bool halve = stage > 0 && i == 0;
      const bool project = i == 0 && (stage > 0 || options.project_first_stage);
      AppendBlock(b, options, filters, halve ? 2 : 1, project);
    }
  }
  b.AveragePool2d({.window = 0}).Flatten();
  if (options.hidden_layer) b.Fc(Expansion(options.block) * filters).BatchNorm().Relu();
  b.Fc(outputs);
}

namespace {

ResNetOptions Basic(std::vector<int> blocks) { return {.blocks = std::move(blocks)}; }

ResNetOptions Bottleneck(std::vector<int> blocks) {
  return {
      .block = ResNetBlock::kBottleneck, .blocks = std::move(blocks), .project_first_stage = true};
}

AppendModel Append(const ResNetOptions& options) {
  return [options](GraphBuilder& b, int64_t outputs) { AppendResNet(b, options, outputs); };
}

// For photographs.
AppendModel Large(ResNetOptions options, ResNetStem stem) {
  options.stem = stem;
  return Append(options);
}

ModelInfo Torchvision(std::string_view name, ResNetOptions options) {
  options.bias = false;
  return Adapting(name, kImageNetData, Large(std::move(options), ResNetStem::kConv7Relu),
                  "as in torchvision");
}

// For small images.
AppendModel Small(ResNetOptions options) {
  options.hidden_layer = true;
  return Append(options);
}

// Three stages of `blocks` basic blocks, from 16 filters on: 6 * blocks + 2 layers.
AppendModel Thin(int blocks, bool project_first_stage = false) {
  return Small({.blocks = {blocks, blocks, blocks},
                .width = 16,
                .project_first_stage = project_first_stage});
}

}  // namespace

std::vector<ModelInfo> ResNetModels() {
  constexpr ResNetStem kConv3 = ResNetStem::kConv3, kConv7 = ResNetStem::kConv7,
                       kConv7Relu = ResNetStem::kConv7Relu;
  constexpr ModelData kCifar10 = kCifar10Data, kImageNet = kImageNetData;
  constexpr std::string_view kFull = "slow on photographs: its stem keeps their resolution";
  const ResNetOptions r18 = Basic({2, 2, 2, 2}), r34 = Basic({3, 4, 6, 3}),
                      r50 = Bottleneck({3, 4, 6, 3}), r101 = Bottleneck({3, 4, 23, 3}),
                      r152 = Bottleneck({3, 8, 36, 3});
  return {
      Adapting("resnet", kImageNet, Large(r50, kConv7Relu), Small(r50),
               "another name of resnet50v15"),
      Adapting("resnet18", kImageNet, Large(r18, kConv3), Small(r18), kFull),
      Adapting("resnet20", kCifar10, Thin(3)),
      Adapting("resnet32", kCifar10, Thin(5)),
      Adapting("resnet34", kImageNet, Large(r34, kConv3), Small(r34), kFull),
      Adapting("resnet44", kCifar10, Thin(7), "44 layers; resnet44_cifar10 has 56"),
      Adapting("resnet50", kImageNet, Large(r50, kConv7), Small(r50)),
      Adapting("resnet50v15", kImageNet, Large(r50, kConv7Relu), Small(r50),
               "resnet50 with batch normalisation and relu in the stem"),
      Adapting("resnet56", kCifar10, Thin(9, true)),
      Adapting("resnet101", kImageNet, Large(r101, kConv3), Small(r101), kFull),
      Adapting("resnet110", kCifar10, Thin(18, true)),
      Adapting("resnet152", kImageNet, Large(r152, kConv3), Small(r152), kFull),
      Adapting("resnet1202", kCifar10, Thin(200, true)),
      Torchvision("torchvision_resnet18", r18),
      Torchvision("torchvision_resnet34", r34),
      Torchvision("torchvision_resnet50", r50),
      Torchvision("torchvision_resnet101", r101),
      Torchvision("torchvision_resnet152", r152),
      Literal("resnet18_cifar10", kCifar10, Small(r18)),
      Literal("resnet20_cifar10", kCifar10, Thin(3)),
      Literal("resnet32_cifar10", kCifar10, Thin(5)),
      Literal("resnet34_cifar10", kCifar10, Small(r34)),
      Literal("resnet44_cifar10", kCifar10, Thin(9), "56 layers; resnet44 has 44"),
      Literal("resnet50_cifar10", kCifar10, Small(r50)),
      Literal("resnet56_cifar10", kCifar10, Thin(9, true)),
      Literal("resnet101_cifar10", kCifar10, Small(r101)),
      Literal("resnet110_cifar10", kCifar10, Thin(18, true)),
      Literal("resnet152_cifar10", kCifar10, Small(r152)),
      Literal("resnet1202_cifar10", kCifar10, Thin(200, true)),
      Literal("resnet18_imagenet", kImageNet, Large(r18, kConv3), kFull),
      Literal("resnet34_imagenet", kImageNet, Large(r34, kConv3), kFull),
      Literal("resnet50_imagenet", kImageNet, Large(r50, kConv7)),
      Literal("resnet50v15_imagenet", kImageNet, Large(r50, kConv7Relu)),
      Literal("resnet101_imagenet", kImageNet, Large(r101, kConv3), kFull),
      Literal("resnet152_imagenet", kImageNet, Large(r152, kConv3), kFull),
  };
}

}  // namespace dtnn
