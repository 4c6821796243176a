// ConvNeXt (Liu et al., "A ConvNet for the 2020s", CVPR 2022): wide depthwise convolutions, layer
// normalisation of each pixel, and blocks whose path is scaled by a factor for each channel before
// it is added. The structure and number of parameters are those of torchvision, without stochastic
// depth.
//
// Small images are cut into patches of 2 x 2 pixels, others of 4 x 4. The factors, which
// torchvision begins with 1e-6, begin with 0: all blocks do nothing at first.

#ifndef DTNN_MODELS_ZOO_CONVNEXT_H_
#define DTNN_MODELS_ZOO_CONVNEXT_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct ConvNextOptions {
  std::vector<int64_t> blocks = {3, 3, 9, 3};  // of each stage
  int64_t width = 96;  // channels of the first stage; each has twice those of the one before
  int64_t patch = 4;   // pixels per side that the first layer makes one of
};

void AppendConvNext(GraphBuilder& b, const ConvNextOptions& options, int64_t outputs);

std::vector<ModelInfo> ConvNextModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_CONVNEXT_H_
