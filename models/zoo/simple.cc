#include "models/zoo/simple.h"

namespace dtnn {

void AppendSimpleMlp(GraphBuilder& b, int64_t classes) {
  b.Flatten();
  for (int i = 0; i < 3; ++i) b.Fc(512).Relu();
  b.Fc(classes).Softmax();
}

void AppendSimpleCnn(GraphBuilder& b, int64_t classes) {
  b.Conv2d(4, {.padding = 1}).Conv2d(4, {.padding = 1}).MaxPool2d({.stride = 2}).Flatten();
  b.Fc(128).Relu().Dropout(0.5).Fc(classes).Softmax();
}

void AppendSimpleCnn8(GraphBuilder& b, int64_t classes) {
  b.Conv2d(4, {.padding = 1}).Relu().Conv2d(8, {.padding = 1}).Relu();
  b.MaxPool2d({.stride = 2}).Flatten();
  b.Fc(128).Relu().Dropout(0.5).Fc(classes).Softmax();
}

}  // namespace dtnn
