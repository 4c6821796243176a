#include "models/zoo/convnext.h"

#include <cstddef>

namespace dtnn {
namespace {

constexpr GroupNormalizationOptions kPixels = {.per_pixel = true, .epsilon = 1e-6};

void AppendBlock(GraphBuilder& b, int64_t width) {
  b.Add({GraphBuilder::Identity(), [=](GraphBuilder& path) {
           path.Conv2d(0, {.kernel = 7, .padding = 3, .grouping = ConvGrouping::kDepthwise});
           path.GroupNorm(kPixels);
           path.Conv2d(4 * width, {.grouping = ConvGrouping::kPointwise}).Gelu();
           path.Conv2d(width, {.grouping = ConvGrouping::kPointwise});
           path.Conv2d(0, {.kernel = 1,
                           .bias = false,
                           .grouping = ConvGrouping::kDepthwise,
                           .initializer = InitializerKind::kZeros});
         }});
}

}  // namespace

void AppendConvNext(GraphBuilder& b, const ConvNextOptions& options, int64_t outputs) {
  int64_t width = options.width;
  b.Conv2d(width, {.kernel = options.patch, .stride = options.patch}).GroupNorm(kPixels);
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    if (stage > 0) {
      width *= 2;
      b.GroupNorm(kPixels).Conv2d(width, {.kernel = 2, .stride = 2});
    }
    for (int64_t i = 0; i < options.blocks[stage]; ++i) AppendBlock(b, width);
  }
  b.AveragePool2d({.window = 0}).GroupNorm(kPixels).Flatten().Fc(outputs);
}

std::vector<ModelInfo> ConvNextModels() {
  return {Adapting(
      "convnext_tiny", kImageNetData,
      [](GraphBuilder& b, int64_t outputs) { AppendConvNext(b, {}, outputs); },
      [](GraphBuilder& b, int64_t outputs) { AppendConvNext(b, {.patch = 2}, outputs); },
      "as in torchvision, without stochastic depth")};
}

}  // namespace dtnn
