// GoogLeNet (Szegedy et al., Going deeper with convolutions, CVPR 2015) with batch normalisation
// after every convolution and two 3x3 convolutions in place of a 5x5: nine inception blocks, each
// of which looks at its input through windows of several sizes side by side.

#ifndef DTNN_MODELS_ZOO_GOOGLENET_H_
#define DTNN_MODELS_ZOO_GOOGLENET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct GoogLeNetOptions {
  Pair final_window = 0;      // of the last average pool, stride 1; 0: the whole image
  int64_t width_divisor = 1;  // divides all filters, which are multiples of 8: smaller networks
};

void AppendGoogLeNet(GraphBuilder& b, const GoogLeNetOptions& options, int64_t outputs);

// As in torchvision, without the two heads that only training has: a stem for photographs, and one
// 3x3 convolution in place of a 5x5. `small_images`: the first convolution has no stride, and no
// pool follows it.
void AppendTorchvisionGoogLeNet(GraphBuilder& b, bool small_images, int64_t width_divisor,
                                int64_t outputs);

std::vector<ModelInfo> GoogLeNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_GOOGLENET_H_
