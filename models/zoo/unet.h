// U-Net (Ronneberger et al., "U-Net: Convolutional Networks for Biomedical Image Segmentation",
// MICCAI 2015): an encoder that halves the image by max pooling, and a decoder that doubles it by
// transposed convolutions and sees the encoder's images of the same size. Its output is an image
// with the classes of each pixel. As commonly done today, convolutions keep the size, and have a
// batch normalisation in place of a bias.

#ifndef DTNN_MODELS_ZOO_UNET_H_
#define DTNN_MODELS_ZOO_UNET_H_

#include <cstdint>
#include <vector>

#include "models/graph/builder.h"
#include "models/zoo/model_info.h"

namespace dtnn {

struct UNetOptions {
  int64_t width = 64;  // channels at full size; each halving doubles them
  int depth = 4;       // halvings: both sides of the image are multiples of 2^depth
};

// `outputs`: classes of each pixel. Sides that are not such multiples are an error of the builder.
void AppendUNet(GraphBuilder& b, const UNetOptions& options, int64_t outputs);

std::vector<ModelInfo> UNetModels();

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_UNET_H_
