#include "models/zoo/vgg.h"

#include <utility>
#include <vector>

namespace dtnn {
namespace {

struct ConvGroup {
  int convolutions;
  int64_t filters;
};

void AppendGroups(GraphBuilder& b, const std::vector<ConvGroup>& groups) {
  for (const ConvGroup& group : groups) {
    for (int i = 0; i < group.convolutions; ++i) {
      b.Conv2d(group.filters, {.padding = 1, .initializer = InitializerKind::kHeUniform}).Relu();
    }
    b.MaxPool2d({.stride = 2});
  }
}

}  // namespace

void AppendVgg16Cifar10(GraphBuilder& b, int64_t classes) {
  constexpr FcOptions kHe = {.initializer = InitializerKind::kHeUniform};
  AppendGroups(b, {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}});
  b.Flatten();
  b.Fc(512, kHe).Relu().Dropout(0.5);
  b.Fc(512, kHe).Relu().Dropout(0.5);
  b.Fc(classes, kHe).Softmax();
}

}  // namespace dtnn
