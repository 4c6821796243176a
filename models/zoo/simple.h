// Small networks for small images: a perceptron, and three forms of one convolutional network that
// the documents of the original system disagree about.

#ifndef DTNN_MODELS_ZOO_SIMPLE_H_
#define DTNN_MODELS_ZOO_SIMPLE_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

// Three hidden layers of 512.
void AppendSimpleMlp(GraphBuilder& b, int64_t outputs);
// Two convolutions of 4 filters without activations between them: the documented form.
void AppendSimpleCnn(GraphBuilder& b, int64_t outputs);
// 4 and 8 filters, each followed by a relu: the form of the sources.
void AppendSimpleCnn8(GraphBuilder& b, int64_t outputs);
// The oldest form: no padding, no dropout, and no Flatten, so that ids after the pool are one less.
void AppendSimpleCnnV1(GraphBuilder& b, int64_t outputs);

std::vector<ModelInfo> SimpleModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_SIMPLE_H_
