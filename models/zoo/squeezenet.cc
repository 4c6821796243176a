#include "models/zoo/squeezenet.h"

namespace dtnn {
namespace {

struct Fire {
  int64_t squeezed, expanded;  // expanded: the outputs of each of the two paths
  bool pooled = false;         // a maximum pooling before it
};
constexpr Fire kFires[] = {{16, 64, true},  {16, 64},  {32, 128, true}, {32, 128},
                           {48, 192, true}, {48, 192}, {64, 256},       {64, 256}};

}  // namespace

void AppendSqueezeNet(GraphBuilder& b, const SqueezeNetOptions& options, int64_t outputs) {
  b.Conv2d(64 / options.width_divisor, {.stride = 2}).Relu();
  for (const Fire& fire : kFires) {
    if (fire.pooled) b.MaxPool2d({.window = 3, .stride = 2, .ceil = true});
    b.Conv2d(fire.squeezed / options.width_divisor, {.kernel = 1}).Relu();
    const int64_t filters = fire.expanded / options.width_divisor;
    b.Concat({[&](GraphBuilder& path) { path.Conv2d(filters, {.kernel = 1}).Relu(); },
              [&](GraphBuilder& path) { path.Conv2d(filters, {.padding = 1}).Relu(); }});
  }
  b.Dropout(0.5).Conv2d(outputs, {.kernel = 1}).Relu().AveragePool2d({.window = 0}).Flatten();
}

std::vector<ModelInfo> SqueezeNetModels() {
  return {Adapting(
      "squeezenet1_1", kImageNetData,
      [](GraphBuilder& b, int64_t outputs) { AppendSqueezeNet(b, {}, outputs); },
      "as in torchvision")};
}

}  // namespace dtnn
