// Keeps a random part of every image and enlarges it (bilinear, half-pixel centres) to the size of
// the whole. The part's share of the area is uniform in [area_low, area_high], the logarithm of its
// width over its height uniform between those of ratio_low and ratio_high, its place any at which
// it fits. A part that does not fit is drawn again (numbers 4 k to 4 k + 3 are those of attempt k);
// after ten attempts it is the largest central part with a ratio in that range.

#ifndef DTNN_DATA_TRANSFORMS_RESIZED_CROP_H_
#define DTNN_DATA_TRANSFORMS_RESIZED_CROP_H_

#include <memory>

#include "data/transforms/transform.h"
#include "data/transforms/warp.h"

namespace dtnn {

struct ResizedCropOptions {
  double area_low = 0.08, area_high = 1;             // (0, 1]
  double ratio_low = 3.0 / 4, ratio_high = 4.0 / 3;  // width / height
};

std::shared_ptr<const Transform> ResizedCrop(const ResizedCropOptions& options = {});
const TransformKind& ResizedCropKind();  // "resized_crop"

WarpWindow DrawWindow(const ResizedCropOptions& options, const ImageExtents& extents,
                      const SampleRandom& random);
template <typename T>
void Enlarge(const WarpWindow& window, const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_RESIZED_CROP_H_
