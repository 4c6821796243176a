// With its probability, keeps a square window at a random place of the image, and puts it at
// another random place; the rest becomes 0. Random number 1 decides, 4 to 7 are the places.

#ifndef DTNN_DATA_TRANSFORMS_CROP_H_
#define DTNN_DATA_TRANSFORMS_CROP_H_

#include <cstdint>
#include <memory>

#include "data/transforms/transform.h"

namespace dtnn {

struct CropOptions {
  int64_t size = 16;  // pixels; at most the image's shorter side
  double probability = 0.5;
};

std::shared_ptr<const Transform> Crop(const CropOptions& options = {});
const TransformKind& CropKind();  // "crop"

// The window [top, top + size) x [left, left + size) goes to (to_top, to_left).
struct CropMove {
  int64_t size = 0, top = 0, left = 0, to_top = 0, to_left = 0;
};
template <typename T>
void MoveWindow(const CropMove& move, const SampleImage<T>& image);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_CROP_H_
