#include "models/zoo/mobilenet.h"

namespace dtnn {
namespace {

// Separable convolutions of equal filters. Where there are several, the first halves the image.
struct Stage {
  int64_t filters;
  int repeats;
};
constexpr Stage kStages[] = {{64, 1}, {128, 2}, {256, 2}, {512, 6}, {1024, 2}};

class MobileNetMaker {
 public:
  MobileNetMaker(GraphBuilder& b, const MobileNetOptions& options)
      : b_(b),
        options_(options),
        activation_(options.tensorflow ? ActivationKind::kRelu6 : ActivationKind::kRelu) {
    if (options.tensorflow) batch_norm_ = {.momentum = 0.99, .epsilon = 1e-3};
  }

  void AppendStem() {
    const Pair padding = options_.tensorflow ? 0 : 1;
    b_.Conv2d(Filters(32), {.stride = 2, .padding = padding, .bias = false});
    b_.Activation(activation_);
  }

  void AppendSeparable(int64_t filters, int64_t stride) {
    b_.Conv2d(
        0, {.stride = stride, .padding = 1, .bias = false, .grouping = ConvGrouping::kDepthwise});
    b_.BatchNorm(batch_norm_).Activation(activation_);
    b_.Conv2d(Filters(filters), {.bias = false, .grouping = ConvGrouping::kPointwise});
    b_.BatchNorm(batch_norm_).Activation(activation_);
  }

  void AppendHead(int64_t outputs) {
    // One pixel is left of a 32x32 image: nothing to do for this pool there.
    b_.AveragePool2d({.window = 0}).Flatten();
    if (options_.tensorflow) {
      b_.Fc(Filters(512)).Relu().Dropout(0.3);
    } else {
      b_.Fc(Filters(1024));
    }
    b_.Fc(outputs);
  }

 private:
  int64_t Filters(int64_t count) const { return count / options_.width_divisor; }

  GraphBuilder& b_;
  const MobileNetOptions& options_;
  const ActivationKind activation_;
  BatchNormalizationOptions batch_norm_;
};

}  // namespace

void AppendMobileNet(GraphBuilder& b, const MobileNetOptions& options, int64_t outputs) {
  MobileNetMaker maker(b, options);
  maker.AppendStem();
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i) {
      maker.AppendSeparable(stage.filters, stage.repeats > 1 && i == 0 ? 2 : 1);
    }
  }
  maker.AppendHead(outputs);
}

std::vector<ModelInfo> MobileNetModels() {
  const AppendModel v1 = [](GraphBuilder& b, int64_t outputs) { AppendMobileNet(b, {}, outputs); };
  const AppendModel tensorflow = [](GraphBuilder& b, int64_t outputs) {
    AppendMobileNet(b, {.tensorflow = true}, outputs);
  };
  return {
      Adapting("mobilenet", kCifar10Data, v1, "another name of mobilenetv1"),
      Adapting("mobilenetv1", kCifar10Data, v1),
      Adapting("mobilenet_tf", kCifar10Data, tensorflow, "relu6, and dropout in a smaller head"),
      Literal("mobilenetv1_cifar10", kCifar10Data, v1),
  };
}

}  // namespace dtnn
