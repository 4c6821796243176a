#include "models/zoo/inverted_residual.h"

#include <algorithm>
#include <span>

namespace dtnn {
namespace {

using Kind = ActivationKind;

class Maker {
 public:
  Maker(GraphBuilder& b, const BatchNormalizationOptions& batch_norm)
      : b_(b), batch_norm_(batch_norm) {}

  void AppendPointwise(int64_t filters) {
    b_.Conv2d(filters, {.kernel = 1, .bias = false}).BatchNorm(batch_norm_);
  }
  void AppendStem(int64_t filters, Kind activation) {
    b_.Conv2d(filters, {.stride = 2, .padding = 1, .bias = false});
    b_.BatchNorm(batch_norm_).Activation(activation);
  }
  void AppendBlock(const InvertedResidual& block) {
    if (block.stride == 1 && block.inputs == block.outputs) {
      b_.Add({GraphBuilder::Identity(),
              [&](GraphBuilder& path) { Maker(path, batch_norm_).AppendPath(block); }});
    } else {
      AppendPath(block);
    }
  }

 private:
  void AppendPath(const InvertedResidual& block) {
    if (block.expanded != block.inputs) {
      AppendPointwise(block.expanded);
      b_.Activation(block.activation);
    }
    b_.Conv2d(0, {.kernel = block.kernel,
                  .stride = block.stride,
                  .padding = block.kernel / 2,
                  .bias = false,
                  .grouping = ConvGrouping::kDepthwise});
    b_.BatchNorm(batch_norm_).Activation(block.activation);
    if (block.squeezed > 0) {
      b_.Multiply({GraphBuilder::Identity(), [&](GraphBuilder& path) {
                     path.AveragePool2d({.window = 0}).Conv2d(block.squeezed, {.kernel = 1});
                     path.Activation(block.squeeze).Conv2d(block.expanded, {.kernel = 1});
                     path.Activation(block.gate);
                   }});
    }
    AppendPointwise(block.outputs);
  }

  GraphBuilder& b_;
  const BatchNormalizationOptions& batch_norm_;
};

// Blocks of equal outputs, of which the first may halve the image.
struct Stage {
  int64_t expansion, kernel, outputs, repeats, stride;
};

void AddStages(InvertedResidualNet& net, std::span<const Stage> stages, InvertedResidual block,
               int64_t squeeze_divisor) {
  block.inputs = net.stem;
  for (const Stage& stage : stages) {
    for (int64_t i = 0; i < stage.repeats; ++i) {
      block.expanded = block.inputs * stage.expansion;
      block.outputs = stage.outputs;
      block.kernel = stage.kernel;
      block.stride = i == 0 ? stage.stride : 1;
      block.squeezed = squeeze_divisor > 0 ? block.inputs / squeeze_divisor : 0;
      net.blocks.push_back(block);
      block.inputs = stage.outputs;
    }
  }
}

// A line of the tables of MobileNetV3.
struct V3Block {
  int64_t kernel, expanded, outputs;
  bool squeezes;
  Kind activation;
  int64_t stride;
};

// A quarter, to the nearest multiple of 8, but not below nine tenths of it.
int64_t SqueezedV3(int64_t expanded) {
  const int64_t quarter = expanded / 4, rounded = std::max<int64_t>(8, (quarter + 4) / 8 * 8);
  return rounded * 10 < quarter * 9 ? rounded + 8 : rounded;
}

InvertedResidualNet MobileNetV3(std::span<const V3Block> blocks, int64_t last, int64_t hidden) {
  InvertedResidualNet net = {.stem = 16,
                             .last = last,
                             .hidden = hidden,
                             .activation = Kind::kHardSwish,
                             .batch_norm = {.momentum = 0.99, .epsilon = 1e-3}};
  int64_t inputs = net.stem;
  for (const V3Block& block : blocks) {
    net.blocks.push_back({.inputs = inputs,
                          .expanded = block.expanded,
                          .outputs = block.outputs,
                          .kernel = block.kernel,
                          .stride = block.stride,
                          .squeezed = block.squeezes ? SqueezedV3(block.expanded) : 0,
                          .activation = block.activation});
    inputs = block.outputs;
  }
  return net;
}

template <InvertedResidualNet (*kNet)()>
void Append(GraphBuilder& b, int64_t outputs) {
  AppendInvertedResiduals(b, kNet(), outputs);
}

}  // namespace

InvertedResidualNet MobileNetV2() {
  constexpr Stage kStages[] = {{1, 3, 16, 1, 1}, {6, 3, 24, 2, 2}, {6, 3, 32, 3, 2},
                               {6, 3, 64, 4, 2}, {6, 3, 96, 3, 1}, {6, 3, 160, 3, 2},
                               {6, 3, 320, 1, 1}};
  InvertedResidualNet net = {.stem = 32, .last = 1280};
  AddStages(net, kStages, {}, 0);
  return net;
}

InvertedResidualNet EfficientNetB0() {
  constexpr Stage kStages[] = {{1, 3, 16, 1, 1}, {6, 3, 24, 2, 2},  {6, 5, 40, 2, 2},
                               {6, 3, 80, 3, 2}, {6, 5, 112, 3, 1}, {6, 5, 192, 4, 2},
                               {6, 3, 320, 1, 1}};
  InvertedResidualNet net = {.stem = 32, .last = 1280, .activation = Kind::kSilu};
  AddStages(net, kStages,
            {.activation = Kind::kSilu, .squeeze = Kind::kSilu, .gate = Kind::kSigmoid}, 4);
  return net;
}

InvertedResidualNet MobileNetV3Small() {
  constexpr Kind kRe = Kind::kRelu, kHs = Kind::kHardSwish;
  constexpr V3Block kBlocks[] = {
      {3, 16, 16, true, kRe, 2},  {3, 72, 24, false, kRe, 2}, {3, 88, 24, false, kRe, 1},
      {5, 96, 40, true, kHs, 2},  {5, 240, 40, true, kHs, 1}, {5, 240, 40, true, kHs, 1},
      {5, 120, 48, true, kHs, 1}, {5, 144, 48, true, kHs, 1}, {5, 288, 96, true, kHs, 2},
      {5, 576, 96, true, kHs, 1}, {5, 576, 96, true, kHs, 1}};
  return MobileNetV3(kBlocks, 576, 1024);
}

InvertedResidualNet MobileNetV3Large() {
  constexpr Kind kRe = Kind::kRelu, kHs = Kind::kHardSwish;
  constexpr V3Block kBlocks[] = {
      {3, 16, 16, false, kRe, 1},  {3, 64, 24, false, kRe, 2},  {3, 72, 24, false, kRe, 1},
      {5, 72, 40, true, kRe, 2},   {5, 120, 40, true, kRe, 1},  {5, 120, 40, true, kRe, 1},
      {3, 240, 80, false, kHs, 2}, {3, 200, 80, false, kHs, 1}, {3, 184, 80, false, kHs, 1},
      {3, 184, 80, false, kHs, 1}, {3, 480, 112, true, kHs, 1}, {3, 672, 112, true, kHs, 1},
      {5, 672, 160, true, kHs, 2}, {5, 960, 160, true, kHs, 1}, {5, 960, 160, true, kHs, 1}};
  return MobileNetV3(kBlocks, 960, 1280);
}

void AppendInvertedResiduals(GraphBuilder& b, const InvertedResidualNet& net, int64_t outputs) {
  Maker maker(b, net.batch_norm);
  maker.AppendStem(net.stem, net.activation);
  for (const InvertedResidual& block : net.blocks) maker.AppendBlock(block);
  maker.AppendPointwise(net.last);
  b.Activation(net.activation).AveragePool2d({.window = 0}).Flatten();
  if (net.hidden > 0) b.Fc(net.hidden).Activation(net.activation);
  b.Dropout(net.dropout).Fc(outputs);
}

std::vector<ModelInfo> InvertedResidualModels() {
  return {
      Adapting("mobilenet_v2", kImageNetData, Append<MobileNetV2>, "as in torchvision"),
      Adapting("mobilenet_v3_small", kImageNetData, Append<MobileNetV3Small>, "as in torchvision"),
      Adapting("mobilenet_v3_large", kImageNetData, Append<MobileNetV3Large>, "as in torchvision"),
      Adapting("efficientnet_b0", kImageNetData, Append<EfficientNetB0>,
               "as in torchvision, without stochastic depth"),
  };
}

}  // namespace dtnn
