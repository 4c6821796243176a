// The VGG family (Simonyan & Zisserman, Very deep convolutional networks for large-scale image
// recognition, ICLR 2015): groups of 3x3 convolutions, each group ending in a 2x2 max pool, then
// fully connected layers. And vgg1, vgg2, vgg3: one, two or three such groups for small images,
// with more and more against overfitting.

#ifndef DTNN_MODELS_ZOO_VGG_H_
#define DTNN_MODELS_ZOO_VGG_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct ConvGroup {
  int convolutions;
  int64_t filters;
};

struct VggOptions {
  std::vector<ConvGroup> groups = {};
  int64_t hidden = 4096;  // outputs of each of the two hidden layers of the head
  bool batch_norm = false;
  bool plain_head = false;  // without batch normalisation, although convolutions have it
  InitializerKind initializer = InitializerKind::kHeUniform;
};

void AppendVgg(GraphBuilder& b, const VggOptions& options, int64_t outputs);

struct ShortVggOptions {
  // One group of two convolutions each: 32 filters, 64, 128; with dropout of this rate at its end.
  std::vector<double> dropout_rates = {};
  int64_t hidden = 128;
  double head_dropout_rate = 0;
  bool batch_norm = false;  // after every relu
  InitializerKind classifier_initializer = InitializerKind::kGlorotUniform;
};

void AppendShortVgg(GraphBuilder& b, const ShortVggOptions& options, int64_t outputs);

std::vector<ModelInfo> VggModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_VGG_H_
