// SqueezeNet 1.1 (Iandola et al., 2016): fire modules, which narrow the channels before a 3x3 and a
// 1x1 convolution side by side, and no fully connected layer. The structure and number of
// parameters are those of torchvision.

#ifndef DTNN_MODELS_ZOO_SQUEEZENET_H_
#define DTNN_MODELS_ZOO_SQUEEZENET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct SqueezeNetOptions {
  int64_t width_divisor = 1;  // divides all filters, which are multiples of 16
};

void AppendSqueezeNet(GraphBuilder& b, const SqueezeNetOptions& options, int64_t outputs);

std::vector<ModelInfo> SqueezeNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_SQUEEZENET_H_
