#include "models/zoo/regnet.h"

#include <cmath>

namespace dtnn {
namespace {

struct Block {
  int64_t inputs, group_width, width = 0, stride = 1;
};

void AppendConvolution(GraphBuilder& b, int64_t filters, Conv2dOptions options) {
  options.bias = false;
  b.Conv2d(filters, options).BatchNorm();
}

void AppendPath(GraphBuilder& b, const Block& block) {
  AppendConvolution(b, block.width, {.kernel = 1});
  b.Relu();
  AppendConvolution(
      b, block.width,
      {.stride = block.stride, .padding = 1, .groups = block.width / block.group_width});
  b.Relu();
  // A quarter of the block's input; halves are rounded to even numbers.
  const auto squeezed = int64_t(std::nearbyint(double(block.inputs) / 4));
  b.Multiply({GraphBuilder::Identity(), [&](GraphBuilder& path) {
                path.AveragePool2d({.window = 0}).Conv2d(squeezed, {.kernel = 1}).Relu();
                path.Conv2d(block.width, {.kernel = 1}).Sigmoid();
              }});
  AppendConvolution(b, block.width, {.kernel = 1});
}

}  // namespace

void AppendRegNetY(GraphBuilder& b, const RegNetOptions& options, int64_t outputs) {
  AppendConvolution(b, options.stem, {.stride = 2, .padding = 1});
  b.Relu();
  Block block = {.inputs = options.stem, .group_width = options.group_width};
  for (const RegNetStage& stage : options.stages) {
    block.width = stage.width;
    for (int64_t i = 0; i < stage.blocks; ++i) {
      block.stride = i == 0 ? 2 : 1;
      const GraphBuilder::Path projection = [&](GraphBuilder& path) {
        AppendConvolution(path, block.width, {.kernel = 1, .stride = block.stride});
      };
      b.Add({i == 0 ? projection : GraphBuilder::Identity(),
             [&](GraphBuilder& path) { AppendPath(path, block); }});
      b.Relu();
      block.inputs = block.width;
    }
  }
  b.AveragePool2d({.window = 0}).Flatten().Fc(outputs);
}

std::vector<ModelInfo> RegNetModels() {
  const AppendModel y400 = [](GraphBuilder& b, int64_t outputs) {
    AppendRegNetY(b, {.stages = {{1, 48}, {3, 104}, {6, 208}, {6, 440}}, .group_width = 8},
                  outputs);
  };
  return {Adapting("regnet_y_400mf", kImageNetData, y400, "as in torchvision")};
}

}  // namespace dtnn
