// Inception v3 (Szegedy et al., Rethinking the Inception architecture for computer vision, CVPR
// 2016): blocks of parallel paths, in which 5x5 and 7x7 windows are made of smaller ones and of
// pairs of a row and a column.
//
// The networks here have neither batch normalisation nor activations in their convolutions, unless
// `normalised`. The literal ones also pad rows and columns the wrong way round, which the next
// convolution makes good where the image is large enough.

#ifndef DTNN_MODELS_ZOO_INCEPTION_H_
#define DTNN_MODELS_ZOO_INCEPTION_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct InceptionOptions {
  bool small_images = false;  // a stem that keeps the resolution instead of dividing it by 8
  bool normalised = false;    // batch normalisation and relu after every convolution
  bool swapped_padding = false;
  Pair final_window = 0;      // of the last average pool, stride 1; 0: the whole image
  int64_t width_divisor = 1;  // divides all filters, which are multiples of 16: smaller networks
};

void AppendInceptionV3(GraphBuilder& b, const InceptionOptions& options, int64_t outputs);

std::vector<ModelInfo> InceptionModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_INCEPTION_H_
