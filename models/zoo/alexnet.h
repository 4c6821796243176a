// AlexNet (Krizhevsky et al., ImageNet classification with deep convolutional neural networks,
// NIPS 2012) as one path instead of two, and without local response normalisation.

#ifndef DTNN_MODELS_ZOO_ALEXNET_H_
#define DTNN_MODELS_ZOO_ALEXNET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

// For photographs, 227x227 at first.
void AppendAlexNet(GraphBuilder& b, int64_t outputs);
// For small images: 3x3 convolutions, and 2x2 pools in place of overlapping 3x3 ones.
void AppendSmallAlexNet(GraphBuilder& b, int64_t outputs);

std::vector<ModelInfo> AlexNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_ALEXNET_H_
