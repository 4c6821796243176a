#include "models/zoo/simple.h"

#include <memory>

#include "layers/image_fc.h"

namespace dtnn {

void AppendSimpleMlp(GraphBuilder& b, int64_t outputs) {
  b.Flatten();
  for (int i = 0; i < 3; ++i) b.Fc(512).Relu();
  b.Fc(outputs);
}

void AppendSimpleCnn(GraphBuilder& b, int64_t outputs) {
  b.Conv2d(4, {.padding = 1}).Conv2d(4, {.padding = 1}).MaxPool2d({.stride = 2}).Flatten();
  b.Fc(128).Relu().Dropout(0.5).Fc(outputs);
}

void AppendSimpleCnn8(GraphBuilder& b, int64_t outputs) {
  b.Conv2d(4, {.padding = 1}).Relu().Conv2d(8, {.padding = 1}).Relu();
  b.MaxPool2d({.stride = 2}).Flatten();
  b.Fc(128).Relu().Dropout(0.5).Fc(outputs);
}

void AppendSimpleCnnV1(GraphBuilder& b, int64_t outputs) {
  b.Conv2d(4).Relu().Conv2d(8).Relu().MaxPool2d({.stride = 2});
  b.Append(std::make_shared<ImageFcLayer>(128)).Relu().Fc(outputs);
}

std::vector<ModelInfo> SimpleModels() {
  return {
      Adapting("simplemlp", kMnistData, AppendSimpleMlp),
      Adapting("simplecnn", kMnistData, AppendSimpleCnn, "no activations after its convolutions"),
      Adapting("simplecnn8", kMnistData, AppendSimpleCnn8, "with activations, 4 and 8 filters"),
      Adapting("simplecnn_v1", kMnistData, AppendSimpleCnnV1,
               "without padding and dropout, as in a README of PyDTNN"),
  };
}

}  // namespace dtnn
