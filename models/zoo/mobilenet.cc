#include "models/zoo/mobilenet.h"

namespace dtnn {
namespace {

// Separable convolutions of equal filters. Where there are several, the first halves the image.
struct Stage {
  int64_t filters;
  int repeats;
};
constexpr Stage kStages[] = {{64, 1}, {128, 2}, {256, 2}, {512, 6}, {1024, 2}};

void AppendSeparable(GraphBuilder& b, int64_t filters, int64_t stride) {
  b.Conv2d(0,
           {.stride = stride, .padding = 1, .bias = false, .grouping = ConvGrouping::kDepthwise});
  b.BatchNorm().Relu();
  b.Conv2d(filters, {.bias = false, .grouping = ConvGrouping::kPointwise});
  b.BatchNorm().Relu();
}

}  // namespace

void AppendMobileNet(GraphBuilder& b, const MobileNetOptions& options, int64_t classes) {
  const int64_t divisor = options.width_divisor;
  b.Conv2d(32 / divisor, {.stride = 2, .padding = 1, .bias = false}).Relu();
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      AppendSeparable(b, stage.filters / divisor, stage.repeats > 1 && i == 0 ? 2 : 1);
    }
  }
  // One pixel is left of a 32x32 image: nothing to do for this pool there.
  b.AveragePool2d({.window = 0}).Flatten();
  b.Fc(1024 / divisor).Fc(classes).Softmax();
}

std::vector<ModelInfo> MobileNetModels() {
  const AppendModel v1 = [](GraphBuilder& b, int64_t classes) { AppendMobileNet(b, {}, classes); };
  return {
      Adapting("mobilenet", kCifar10Data, v1, "another name of mobilenetv1"),
      Adapting("mobilenetv1", kCifar10Data, v1),
      Literal("mobilenetv1_cifar10", kCifar10Data, v1),
  };
}

}  // namespace dtnn
