#include "models/zoo/shufflenet.h"

#include <cstddef>

namespace dtnn {
namespace {

void AppendPointwise(GraphBuilder& b, int64_t filters) {
  b.Conv2d(filters, {.kernel = 1, .bias = false}).BatchNorm().Relu();
}

void AppendDepthwise(GraphBuilder& b, int64_t stride) {
  b.Conv2d(0, {.kernel = 3,
               .stride = stride,
               .padding = 1,
               .bias = false,
               .grouping = ConvGrouping::kDepthwise});
  b.BatchNorm();
}

// The path that computes: `width` channels.
void AppendPath(GraphBuilder& b, int64_t width, int64_t stride) {
  AppendPointwise(b, width);
  AppendDepthwise(b, stride);
  AppendPointwise(b, width);
}

// `width`: channels of the output.
void AppendBlock(GraphBuilder& b, int64_t width, bool halves) {
  const int64_t half = width / 2;
  if (halves) {
    b.Concat({[=](GraphBuilder& path) {
                AppendDepthwise(path, 2);
                AppendPointwise(path, half);
              },
              [=](GraphBuilder& path) { AppendPath(path, half, 2); }});
  } else {
    b.Concat({[=](GraphBuilder& path) { path.ChannelSlice(0, half); },
              [=](GraphBuilder& path) {
                path.ChannelSlice(half, half);
                AppendPath(path, half, 1);
              }});
  }
  b.ChannelShuffle(2);
}

// `width`: channels of the first stage; each has twice those of the one before.
ModelInfo Model(std::string_view name, int64_t width, int64_t last) {
  const auto append = [=](bool small) {
    return [=](GraphBuilder& b, int64_t outputs) {
      AppendShuffleNet(b, {.widths = {width, 2 * width, 4 * width}, .last = last, .small = small},
                       outputs);
    };
  };
  return Adapting(name, kImageNetData, append(false), append(true), "as in torchvision");
}

}  // namespace

void AppendShuffleNet(GraphBuilder& b, const ShuffleNetOptions& options, int64_t outputs) {
  b.Conv2d(options.stem, {.stride = options.small ? 1 : 2, .padding = 1, .bias = false});
  b.BatchNorm().Relu();
  if (!options.small) b.MaxPool2d({.window = 3, .stride = 2, .padding = 1});
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    for (int64_t i = 0; i < options.blocks[stage]; ++i) {
      AppendBlock(b, options.widths[stage], /*halves=*/i == 0);
    }
  }
  AppendPointwise(b, options.last);
  b.AveragePool2d({.window = 0}).Flatten().Fc(outputs);
}

std::vector<ModelInfo> ShuffleNetModels() {
  return {Model("shufflenet_v2_x0_5", 48, 1024), Model("shufflenet_v2_x1_0", 116, 1024),
          Model("shufflenet_v2_x1_5", 176, 1024), Model("shufflenet_v2_x2_0", 244, 2048)};
}

}  // namespace dtnn
