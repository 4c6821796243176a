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

void ConvBnRelu(GraphBuilder& b, int64_t filters, Pair kernel, Pair padding = 0) {
  b.Conv2d(filters,
           {.kernel = kernel, .padding = padding, .initializer = InitializerKind::kHeUniform});
  b.BatchNorm().Relu();
}

void AppendBlock(GraphBuilder& b, const InceptionBlock& block, int64_t divisor) {
  b.Concat({[&](GraphBuilder& p) { ConvBnRelu(p, block.one / divisor, 1); },
            [&](GraphBuilder& p) {
              ConvBnRelu(p, block.reduce3 / divisor, 1);
              ConvBnRelu(p, block.three / divisor, 3, 1);
            },
            [&](GraphBuilder& p) {
              ConvBnRelu(p, block.reduce5 / divisor, 1);
              ConvBnRelu(p, block.five / divisor, 3, 1);
              ConvBnRelu(p, block.five / divisor, 3, 1);
            },
            [&](GraphBuilder& p) {
              p.MaxPool2d({.window = 3, .padding = 1});
              ConvBnRelu(p, block.pool / divisor, 1);
            }});
}

}  // namespace

void AppendGoogLeNet(GraphBuilder& b, const GoogLeNetOptions& options, int64_t outputs) {
  constexpr Pool2dOptions kHalve = {.window = 3, .stride = 2, .padding = 1};
  const int64_t divisor = options.width_divisor;
  ConvBnRelu(b, 192 / divisor, 3, 1);
  for (const InceptionBlock& block : kLargeImage) AppendBlock(b, block, divisor);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kHalfImage) AppendBlock(b, block, divisor);
  b.MaxPool2d(kHalve);
  for (const InceptionBlock& block : kQuarterImage) AppendBlock(b, block, divisor);
  b.AveragePool2d({.window = options.final_window}).Flatten();
  b.Fc(1024 / divisor).BatchNorm().Relu();
  b.Fc(outputs);
}

std::vector<ModelInfo> GoogLeNetModels() {
  const auto append = [](Pair final_window) -> AppendModel {
    return [final_window](GraphBuilder& b, int64_t outputs) {
      AppendGoogLeNet(b, {.final_window = final_window}, outputs);
    };
  };
  constexpr Pair kGlobal = 0, kEight = 8;  // 8: the whole image on 32x32 samples
  return {
      Adapting("googlenet", kImageNetData, append(kGlobal)),
      Literal("googlenet_cifar10", kCifar10Data, append(kEight)),
      Literal("googlenet_imagenet", kImageNetData, append(kEight),
              "nearly all in its last but one layer; see the _gap form"),
      Literal("googlenet_imagenet_gap", kImageNetData, append(kGlobal),
              "with a global average pool at the end"),
  };
}

}  // namespace dtnn
