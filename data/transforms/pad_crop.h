// Pads the image on all sides and keeps a random window of its old size: the image is shifted by up
// to `padding` pixels in both directions, each shift as likely as any other. Numbers 0 (down) and 1
// (across) decide.

#ifndef DTNN_DATA_TRANSFORMS_PAD_CROP_H_
#define DTNN_DATA_TRANSFORMS_PAD_CROP_H_

#include <cstdint>
#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

enum class PadFill : uint8_t {
  kZero,
  kReflect,  // the image mirrored at its edge pixels, which do not repeat
};

struct PadCropOptions {
  int64_t padding = 4;  // pixels; less than the image's shorter side
  PadFill fill = PadFill::kZero;
};

std::shared_ptr<const Transform> PadCrop(const PadCropOptions& options = {});
const TransformKind& PadCropKind();  // "pad_crop"

// Pixel (y, x) becomes what was at (y + down, x + across).
template <typename T>
void Shift(int64_t down, int64_t across, PadFill fill, const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_PAD_CROP_H_
