// Random changes to training samples, so that a network sees more than there is: mirroring, and
// cropping. Done on the values of a batch, each sample by itself.
//
//   flip   with its probability the sample is mirrored left to right.
//   crop   with its probability only a window of crop_size x crop_size pixels at a random place is
//          kept, and put at another random place; the rest becomes 0. The window is at most the
//          shorter side; one that is the whole image changes nothing.
//
// Every sample is drawn for, instead of a fixed share of a batch: what happens to it is a function
// of (seed, epoch, place in the epoch's order) alone, the same for any batch size, number of ranks
// and of threads, and after a restart.

#ifndef DTNN_DATA_TRANSFORMS_AUGMENT_H_
#define DTNN_DATA_TRANSFORMS_AUGMENT_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "tensor/format.h"

namespace dtnn {

struct Augmentation {
  double flip = 0;  // probabilities, [0, 1]
  double crop = 0;
  int64_t crop_size = 16;

  bool any() const { return flip > 0 || crop > 0; }
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

// InvalidArgument for values out of range.
absl::Status CheckAugmentation(const Augmentation& augmentation);

// The sample, extents in `format` and dense, at `place` of the order of `epoch`. In place, without
// allocating.
void Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t place,
             const ImageExtents& extents, TensorFormat format, std::span<float> sample);
void Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t place,
             const ImageExtents& extents, TensorFormat format, std::span<double> sample);

// What Augment is made of. The window [top, top + size) x [left, left + size) goes to
// (to_top, to_left), all else becomes 0.
struct CropMove {
  int64_t size = 0, top = 0, left = 0, to_top = 0, to_left = 0;
};
template <typename T>
void FlipLeftRight(const ImageExtents& extents, TensorFormat format, std::span<T> sample);
template <typename T>
void MoveWindow(const CropMove& move, const ImageExtents& extents, TensorFormat format,
                std::span<T> sample);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_AUGMENT_H_
