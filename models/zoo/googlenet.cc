#include "models/zoo/googlenet.h"

namespace dtnn {
namespace {

// The filters of a block's four paths: a 1x1 convolution; 3x3 after a reducing 1x1; two 3x3 after
// a reducing 1x1; 1x1 after a max pool.
struct InceptionBlock {
  int64_t one, reduce3, three, reduce5, five, pool;
};
constexpr InceptionBlock kLargeImage[] = {{64, 96, 128, 16, 32, 32}, {128, 128, 192, 32, 96, 64}};
constexpr InceptionBlock kHalfImage[] = {{192, 96, 208, 16, 48, 64},
                                         {160, 112, 224, 24, 64, 64},
                                         {128, 128, 256, 24, 64, 64},
                                         {112, 144, 288, 32, 64, 64},
                                         {256, 160, 320, 32, 128, 128}};
constexpr InceptionBlock kQuarterImage[] = {{256, 160, 320, 32, 128, 128},
                                            {384, 192, 384, 48, 128, 128}};

// What the two forms of the network differ in, but for their stems and heads.
struct Form {
  bool torchvision;
  int64_t divisor;  // of all filters
};

void ConvBnRelu(GraphBuilder& b, const Form& form, int64_t filters, Pair kernel, Pair padding = 0,
                Pair stride = 1) {
  b.Conv2d(filters / form.divisor, {.kernel = kernel,
                                    .stride = stride,
                                    .padding = padding,
                                    .bias = !form.torchvision,
                                    .initializer = InitializerKind::kHeUniform});
  b.BatchNorm(form.torchvision ? BatchNormalizationOptions{.epsilon = 1e-3}
                               : BatchNormalizationOptions());
  b.Relu();
}

void AppendBlock(GraphBuilder& b, const InceptionBlock& block, const Form& form) {
  b.Concat({[&](GraphBuilder& p) { ConvBnRelu(p, form, block.one, 1); },
            [&](GraphBuilder& p) {
              ConvBnRelu(p, form, block.reduce3, 1);
              ConvBnRelu(p, form, block.three, 3, 1);
            },
            [&](GraphBuilder& p) {
              ConvBnRelu(p, form, block.reduce5, 1);
              ConvBnRelu(p, form, block.five, 3, 1);
              if (!form.torchvision) ConvBnRelu(p, form, block.five, 3, 1);
            },
            [&](GraphBuilder& p) {
              p.MaxPool2d({.window = 3, .padding = 1});
              ConvBnRelu(p, form, block.pool, 1);
            }});
}

}  // namespace

void AppendGoogLeNet(GraphBuilder& b, const GoogLeNetOptions& options, int64_t outputs) {
  constexpr Pool2dOptions kHalve = {.window = 3, .stride = 2, .padding = 1};
  const Form form = {.torchvision = false, .divisor = options.width_divisor};
  ConvBnRelu(b, form, 192, 3, 1);
  for (const InceptionBlock& block : kLargeImage) AppendBlock(b, block, form);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kHalfImage) AppendBlock(b, block, form);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kQuarterImage) AppendBlock(b, block, form);
  b.AveragePool2d({.window = options.final_window}).Flatten();
  b.Fc(1024 / form.divisor).BatchNorm().Relu();
  b.Fc(outputs);
}

void AppendTorchvisionGoogLeNet(GraphBuilder& b, bool small_images, int64_t width_divisor,
                                int64_t outputs) {
  constexpr Pool2dOptions kHalve = {.window = 3, .stride = 2, .ceil = true};
  const Form form = {.torchvision = true, .divisor = width_divisor};
  ConvBnRelu(b, form, 64, 7, 3, small_images ? 1 : 2);
  if (!small_images) b.MaxPool2d(kHalve);
  ConvBnRelu(b, form, 64, 1);
  ConvBnRelu(b, form, 192, 3, 1);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kLargeImage) AppendBlock(b, block, form);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kHalfImage) AppendBlock(b, block, form);
  b.MaxPool2d({.stride = 2, .ceil = true});
  for (const InceptionBlock& block : kQuarterImage) AppendBlock(b, block, form);
  b.AveragePool2d({.window = 0}).Flatten().Dropout(0.2).Fc(outputs);
}

std::vector<ModelInfo> GoogLeNetModels() {
  const auto append = [](Pair final_window) -> AppendModel {
    return [final_window](GraphBuilder& b, int64_t outputs) {
      AppendGoogLeNet(b, {.final_window = final_window}, outputs);
    };
  };
  const auto torchvision = [](bool small_images) -> AppendModel {
    return [small_images](GraphBuilder& b, int64_t outputs) {
      AppendTorchvisionGoogLeNet(b, small_images, /*width_divisor=*/1, outputs);
    };
  };
  constexpr Pair kGlobal = 0, kEight = 8;  // 8: the whole image on 32x32 samples
  return {
      Adapting("googlenet", kImageNetData, append(kGlobal)),
      Adapting("torchvision_googlenet", kImageNetData, torchvision(false), torchvision(true),
               "as in torchvision, without the heads that only training has"),
      Literal("googlenet_cifar10", kCifar10Data, append(kEight)),
      Literal("googlenet_imagenet", kImageNetData, append(kEight),
              "nearly all in its last but one layer; see the _gap form"),
      Literal("googlenet_imagenet_gap", kImageNetData, append(kGlobal),
              "with a global average pool at the end"),
  };
}

}  // namespace dtnn
