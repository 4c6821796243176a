// Networks of inverted residuals: blocks that widen the channels, convolve each by itself, and
// narrow them again, with the shortcut between the narrow ends.
//
//   mobilenet_v2      Sandler et al., MobileNetV2, 2018
//   mobilenet_v3      Howard et al., Searching for MobileNetV3, 2019: hard swish, and
//                     squeeze-and-excitation (Hu et al., 2018) after the depthwise convolution
//   efficientnet_b0   Tan and Le, EfficientNet, 2019: SiLU, and no stochastic depth
//
// The structures and numbers of parameters are those of torchvision.

#ifndef DTNN_MODELS_ZOO_INVERTED_RESIDUAL_H_
#define DTNN_MODELS_ZOO_INVERTED_RESIDUAL_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct InvertedResidual {
  // Channels; there is no first convolution where inputs == expanded.
  int64_t inputs = 0, expanded = 0, outputs = 0;
  int64_t kernel = 3, stride = 1;  // of the depthwise convolution
  int64_t squeezed = 0;            // channels between squeeze and excitation; 0: none of it
  ActivationKind activation = ActivationKind::kRelu6;
  ActivationKind squeeze = ActivationKind::kRelu, gate = ActivationKind::kHardSigmoid;
};

struct InvertedResidualNet {
  std::vector<InvertedResidual> blocks = {};
  int64_t stem = 0, last = 0;  // filters of the first and the last convolution
  int64_t hidden = 0;          // outputs of a layer before the last; 0: none
  ActivationKind activation = ActivationKind::kRelu6;
  BatchNormalizationOptions batch_norm = {};
  double dropout = 0.2;
};

InvertedResidualNet MobileNetV2();
InvertedResidualNet MobileNetV3Small();
InvertedResidualNet MobileNetV3Large();
InvertedResidualNet EfficientNetB0();

void AppendInvertedResiduals(GraphBuilder& b, const InvertedResidualNet& net, int64_t outputs);

std::vector<ModelInfo> InvertedResidualModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_INVERTED_RESIDUAL_H_
