#include "models/zoo/alexnet.h"

namespace dtnn {
namespace {

void AppendHead(GraphBuilder& b, int64_t outputs) {
  b.Flatten();
  b.Fc(4096).Relu().Dropout(0.5);
  b.Fc(4096).Relu().Dropout(0.5);
  b.Fc(outputs);
}

}  // namespace

void AppendAlexNet(GraphBuilder& b, int64_t outputs) {
  constexpr Pool2dOptions kHalve = {.window = 3, .stride = 2};
  b.Conv2d(96, {.kernel = 11, .stride = 4}).Relu().MaxPool2d(kHalve);
  b.Conv2d(256, {.kernel = 5, .padding = 2}).Relu().MaxPool2d(kHalve);
  for (int64_t filters : {384, 384, 256}) b.Conv2d(filters, {.padding = 1}).Relu();
  b.MaxPool2d(kHalve);
  AppendHead(b, outputs);
}

void AppendSmallAlexNet(GraphBuilder& b, int64_t outputs) {
  b.Conv2d(64, {.stride = 2, .padding = 1}).Relu().MaxPool2d({.stride = 2});
  b.Conv2d(192, {.padding = 1}).Relu().MaxPool2d({.stride = 2});
  for (int64_t filters : {384, 256, 256}) b.Conv2d(filters, {.padding = 1}).Relu();
  b.MaxPool2d({.stride = 2});
  AppendHead(b, outputs);
}

std::vector<ModelInfo> AlexNetModels() {
  constexpr ModelData kImageNet = {{227, 227, 3}, 1000};
  return {
      Adapting("alexnet", kImageNet, AppendAlexNet, AppendSmallAlexNet),
      Literal("alexnet_imagenet", kImageNet, AppendAlexNet),
      Literal("alexnet_cifar10", kCifar10Data, AppendSmallAlexNet),
  };
}

}  // namespace dtnn
