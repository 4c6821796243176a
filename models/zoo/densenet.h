// The DenseNet family (Huang et al., Densely connected convolutional networks, CVPR 2017): in a
// dense block every layer sees what all layers before it made, side by side.
//
// A dense layer is [1x1, 4 * growth] [3x3, growth], each after batch normalisation and relu; its
// output stands before its input's channels. Between blocks a 1x1 convolution halves the channels
// and a pool the image.

#ifndef DTNN_MODELS_ZOO_DENSENET_H_
#define DTNN_MODELS_ZOO_DENSENET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

enum class DenseNetStem : uint8_t {
  kConv3,     // 3x3: keeps the resolution
  kConv7,     // 7x7 stride 2, batch normalisation, relu, max pool stride 2, as in torchvision
  kSameSize,  // the same without strides and pool, for small images
};

struct DenseNetOptions {
  int64_t growth = 32;           // channels that a dense layer adds
  std::vector<int> blocks = {};  // dense layers of each block
  Pair final_window = 0;         // of the last average pool, stride 1; 0: the whole image
  DenseNetStem stem = DenseNetStem::kConv3;
  bool inputs_first = false;  // the input's channels stand before a dense layer's output
};

void AppendDenseNet(GraphBuilder& b, const DenseNetOptions& options, int64_t outputs);

std::vector<ModelInfo> DenseNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_DENSENET_H_
