#include "models/zoo/densenet.h"

#include <utility>

namespace dtnn {
namespace {

void NormalisedConv(GraphBuilder& b, int64_t filters, Pair kernel, Pair padding) {
  b.BatchNorm().Relu().Conv2d(filters, {.kernel = kernel,
                                        .padding = padding,
                                        .bias = false,
                                        .initializer = InitializerKind::kHeUniform});
}

void AppendStem(GraphBuilder& b, int64_t channels, DenseNetStem stem) {
  constexpr InitializerKind kHe = InitializerKind::kHeUniform;
  if (stem == DenseNetStem::kConv3) {
    b.Conv2d(channels, {.padding = 1, .bias = false, .initializer = kHe});
    return;
  }
  const bool halves = stem == DenseNetStem::kConv7;
  b.Conv2d(
      channels,
      {.kernel = 7, .stride = halves ? 2 : 1, .padding = 3, .bias = false, .initializer = kHe});
  b.BatchNorm().Relu();
  if (halves) b.MaxPool2d({.window = 3, .stride = 2, .padding = 1});
}

}  // namespace

void AppendDenseNet(GraphBuilder& b, const DenseNetOptions& options, int64_t outputs) {
  const int64_t growth = options.growth;
  const GraphBuilder::Path dense_layer = [growth](GraphBuilder& p) {
    NormalisedConv(p, 4 * growth, 1, 0);
    NormalisedConv(p, growth, 3, 1);
  };
  int64_t channels = 2 * growth;
  AppendStem(b, channels, options.stem);
  for (size_t block = 0; block < options.blocks.size(); ++block) {
    if (block > 0) {
      channels /= 2;
      NormalisedConv(b, channels, 1, 0);
      b.AveragePool2d({.stride = 2});
    }
    for (int i = 0; i < options.blocks[block]; ++i) {
      if (options.inputs_first) {
        b.Concat({GraphBuilder::Identity(), dense_layer});
      } else {
        b.Concat({dense_layer, GraphBuilder::Identity()});
      }
    }
    channels += options.blocks[block] * growth;
  }
  b.BatchNorm().Relu().AveragePool2d({.window = options.final_window}).Flatten();
  b.Fc(outputs);
}

namespace {

// A final window of 4 is the whole image on 32x32 samples, and leaves 25x25 of it on 224x224.
AppendModel Append(int64_t growth, std::vector<int> blocks, Pair final_window) {
  const DenseNetOptions options = {growth, std::move(blocks), final_window};
  return [options](GraphBuilder& b, int64_t outputs) { AppendDenseNet(b, options, outputs); };
}
AppendModel Torchvision(int64_t growth, std::vector<int> blocks, DenseNetStem stem) {
  const DenseNetOptions options = {growth, std::move(blocks), 0, stem, /*inputs_first=*/true};
  return [options](GraphBuilder& b, int64_t outputs) { AppendDenseNet(b, options, outputs); };
}
AppendModel Dense121(Pair window) { return Append(32, {6, 12, 24, 16}, window); }
AppendModel Dense161(Pair window) { return Append(48, {6, 12, 36, 24}, window); }
AppendModel Dense169(Pair window) { return Append(32, {6, 12, 32, 32}, window); }
AppendModel Dense201(Pair window) { return Append(32, {6, 12, 48, 32}, window); }
AppendModel Dense12(Pair window) { return Append(12, {6, 12, 24, 16}, window); }

}  // namespace

std::vector<ModelInfo> DenseNetModels() {
  constexpr Pair kGlobal = 0, kFour = 4;
  constexpr ModelData kCifar10 = kCifar10Data, kImageNet = kImageNetData;
  constexpr std::string_view kHuge = "nearly all in its last layer; see the _gap form";
  constexpr std::string_view kGap = "with a global average pool at the end";
  return {
      Adapting("densenet", kCifar10, Dense12(kGlobal), "growth rate 12"),
      Adapting("densenet121", kImageNet, Dense121(kGlobal)),
      Adapting("densenet161", kImageNet, Dense161(kGlobal)),
      Adapting("densenet169", kImageNet, Dense169(kGlobal)),
      Adapting("densenet201", kImageNet, Dense201(kGlobal)),
      Adapting("torchvision_densenet121", kImageNet,
               Torchvision(32, {6, 12, 24, 16}, DenseNetStem::kConv7),
               Torchvision(32, {6, 12, 24, 16}, DenseNetStem::kSameSize), "as in torchvision"),
      Literal("densenet_cifar10", kCifar10, Dense12(kFour), "growth rate 12"),
      Literal("densenet121_cifar10", kCifar10, Dense121(kFour)),
      Literal("densenet161_cifar10", kCifar10, Dense161(kFour)),
      Literal("densenet169_cifar10", kCifar10, Dense169(kFour)),
      Literal("densenet201_cifar10", kCifar10, Dense201(kFour)),
      Literal("densenet121_imagenet", kImageNet, Dense121(kFour), kHuge),
      Literal("densenet161_imagenet", kImageNet, Dense161(kFour), kHuge),
      Literal("densenet169_imagenet", kImageNet, Dense169(kFour), kHuge),
      Literal("densenet201_imagenet", kImageNet, Dense201(kFour), kHuge),
      Literal("densenet121_imagenet_gap", kImageNet, Dense121(kGlobal), kGap),
      Literal("densenet161_imagenet_gap", kImageNet, Dense161(kGlobal), kGap),
      Literal("densenet169_imagenet_gap", kImageNet, Dense169(kGlobal), kGap),
      Literal("densenet201_imagenet_gap", kImageNet, Dense201(kGlobal), kGap),
  };
}

}  // namespace dtnn
