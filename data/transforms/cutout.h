// Fills a square of every image, whose centre is any of its pixels (numbers 0 and 1), so that a
// network does not rely on one part alone. The square is cut at the image's edges. (DeVries and
// Taylor, "Improved regularization of convolutional neural networks with cutout", 2017.)

#ifndef DTNN_DATA_TRANSFORMS_CUTOUT_H_
#define DTNN_DATA_TRANSFORMS_CUTOUT_H_

#include <cstdint>
#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

enum class CutoutFill : uint8_t {
  kMean,  // of the image, per channel
  kZero,
};

struct CutoutOptions {
  int64_t size = 8;  // pixels
  CutoutFill fill = CutoutFill::kMean;
};

std::shared_ptr<const Transform> Cutout(const CutoutOptions& options = {});
const TransformKind& CutoutKind();  // "cutout"

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_CUTOUT_H_
