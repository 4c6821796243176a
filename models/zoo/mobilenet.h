// MobileNet v1 (Howard et al., MobileNets, 2017): every 3x3 convolution is split into a depthwise
// one, of one filter per channel, and a pointwise one that mixes the channels.

#ifndef DTNN_MODELS_ZOO_MOBILENET_H_
#define DTNN_MODELS_ZOO_MOBILENET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct MobileNetOptions {
  // As in TensorFlow: relu6, running statistics of a longer past, no padding in the stem, and
  // dropout in the head.
  bool tensorflow = false;
  int64_t width_divisor = 1;  // divides all filters, which are multiples of 32: smaller networks
};

void AppendMobileNet(GraphBuilder& b, const MobileNetOptions& options, int64_t outputs);

std::vector<ModelInfo> MobileNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_MOBILENET_H_
