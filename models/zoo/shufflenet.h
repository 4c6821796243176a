// ShuffleNetV2 (Ma et al., "Practical Guidelines for Efficient CNN Architecture Design", ECCV
// 2018): half of the channels pass a block unchanged, the others a narrow path, and a channel
// shuffle mixes both for the next block. The structure and number of parameters are those of
// torchvision.

#ifndef DTNN_MODELS_ZOO_SHUFFLENET_H_
#define DTNN_MODELS_ZOO_SHUFFLENET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct ShuffleNetOptions {
  int64_t stem = 24;                              // channels of the first convolution
  std::vector<int64_t> blocks = {4, 8, 4};        // of each stage, whose first halves the image
  std::vector<int64_t> widths = {116, 232, 464};  // channels of each stage: even
  int64_t last = 1024;                            // of the last convolution
  bool small = false;                             // the stem keeps the resolution
};

void AppendShuffleNet(GraphBuilder& b, const ShuffleNetOptions& options, int64_t outputs);

std::vector<ModelInfo> ShuffleNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_SHUFFLENET_H_
