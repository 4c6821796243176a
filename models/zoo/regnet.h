// RegNetY (Radosavovic et al., Designing Network Design Spaces, 2020): residual blocks with grouped
// convolutions and squeeze-and-excitation, whose widths follow from a few numbers. The structure
// and numbers of parameters are those of torchvision.

#ifndef DTNN_MODELS_ZOO_REGNET_H_
#define DTNN_MODELS_ZOO_REGNET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct RegNetStage {
  int64_t blocks, width;  // the first block halves the image
};
struct RegNetOptions {
  std::vector<RegNetStage> stages;
  int64_t group_width = 0;  // channels of a group
  int64_t stem = 32;
};

void AppendRegNetY(GraphBuilder& b, const RegNetOptions& options, int64_t outputs);

std::vector<ModelInfo> RegNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_REGNET_H_
