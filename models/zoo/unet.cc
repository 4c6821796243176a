#include "models/zoo/unet.h"

namespace dtnn {
namespace {

void AppendTwoConvolutions(GraphBuilder& b, int64_t width) {
  for (int i = 0; i < 2; ++i) b.Conv2d(width, {.padding = 1, .bias = false}).BatchNorm().Relu();
}

// What an image goes through at its size and all smaller ones.
void AppendLevel(GraphBuilder& b, int64_t width, int depth) {
  AppendTwoConvolutions(b, width);
  if (depth == 0) return;
  b.Concat({GraphBuilder::Identity(), [&](GraphBuilder& path) {
              path.MaxPool2d({.stride = 2});
              AppendLevel(path, 2 * width, depth - 1);
              path.TransposedConv2d(width, {.kernel = 2, .stride = 2});
            }});
  AppendTwoConvolutions(b, width);
}

}  // namespace

void AppendUNet(GraphBuilder& b, const UNetOptions& options, int64_t outputs) {
  AppendLevel(b, options.width, options.depth);
  b.Conv2d(outputs, {.kernel = 1});
}

std::vector<ModelInfo> UNetModels() {
  constexpr ModelData kData = {{256, 256, 3}, 21};
  ModelInfo unet = Adapting(
      "unet", kData, [](GraphBuilder& b, int64_t outputs) { AppendUNet(b, {}, outputs); },
      "classes of pixels, of images whose sides are multiples of 16");
  unet.side_multiple = int64_t{1} << UNetOptions().depth;
  return {unet};
}

}  // namespace dtnn
