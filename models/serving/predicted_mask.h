// Masks of a network that classifies pixels: for each pixel of an image the likeliest class, as
// data/datasets/masks/masks.h reads them.

#ifndef DTNN_MODELS_SERVING_PREDICTED_MASK_H_
#define DTNN_MODELS_SERVING_PREDICTED_MASK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/images/image.h"
#include "models/serving/predictor.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// InvalidArgument for a network that does not give a class to each pixel (images whose last layer
// is a softmax), for one with more classes than a mask has values, and for one that takes no
// images.
absl::Status CheckPredictsMasks(const Predictor& predictor);

// The mask of an image of `extents`, from row `row` of what Predict returned for it. It has one
// channel and the image's height and width; a pixel has the class of the network's pixel that is
// nearest, and kMaskWithoutClass where the network did not see it, because its images are cropped.
// InvalidArgument where outputs are NaN or infinite.
absl::StatusOr<Image> PredictedMask(const Predictor& predictor, const Tensor& outputs, int64_t row,
                                    const ImageExtents& extents);

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PREDICTED_MASK_H_
