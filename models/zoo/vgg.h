// The VGG family (Simonyan & Zisserman, ICLR 2015): groups of 3x3 convolutions, each group ending
// in a 2x2 max pool, then fully connected layers.

#ifndef DTNN_MODELS_ZOO_VGG_H_
#define DTNN_MODELS_ZOO_VGG_H_

#include <cstdint>

#include "models/builder.h"

namespace dtnn {

// 13 convolutions and a head of 512, 512 for 32x32 images.
void AppendVgg16Cifar10(GraphBuilder& b, int64_t classes);

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_VGG_H_
