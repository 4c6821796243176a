// The ResNet family (He et al., Deep residual learning for image recognition, CVPR 2016): a stem,
// stages of blocks that add a few convolutions to their own input, and a small head.
//
//   basic        x + [3x3, n] [3x3, n]
//   bottleneck   x + [1x1, n] [3x3, n] [1x1, 4n]
//
// Every convolution is followed by batch normalisation; the first block of a stage
// may halve the image, and then projects x with a 1x1 convolution.

#ifndef DTNN_MODELS_ZOO_RESNET_H_
#define DTNN_MODELS_ZOO_RESNET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

enum class ResNetBlock : uint8_t { kBasic, kBottleneck };

enum class ResNetStem : uint8_t {
  kConv3,      // 3x3, batch normalisation: keeps the resolution
  kConv7,      // 7x7 stride 2, max pool stride 2, as in resnet50_imagenet
  kConv7Relu,  // the same with batch normalisation and relu between them: "v1.5"
};

struct ResNetOptions {
  ResNetBlock block = ResNetBlock::kBasic;
  std::vector<int> blocks = {};  // of each stage
  int64_t width = 64;            // filters of the stem and of the first stage; each stage doubles
  ResNetStem stem = ResNetStem::kConv3;
  bool project_first_stage = false;  // although its shapes agree
  bool bias = true;                  // of convolutions, although batch normalisation follows
  bool hidden_layer = false;         // one more, fully connected, before the classifier
};

void AppendResNet(GraphBuilder& b, const ResNetOptions& options, int64_t outputs);

std::vector<ModelInfo> ResNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_RESNET_H_
