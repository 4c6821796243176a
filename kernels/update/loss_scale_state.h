// Where a dynamic loss scale stands (loss_scale.h), for checkpoints.

#ifndef DTNN_KERNELS_UPDATE_LOSS_SCALE_STATE_H_
#define DTNN_KERNELS_UPDATE_LOSS_SCALE_STATE_H_

#include <cmath>
#include <cstdint>

namespace dtnn {

struct LossScaleState {
  static constexpr int64_t kGoodSteps = 2000;  // after which it doubles
  static constexpr float kLeast = 0x1p-24f, kMost = 0x1p30f;

  float scale = 65536;
  int64_t good_steps = 0;     // in a row, since the scale changed
  int64_t skipped_steps = 0;  // of all

  // Whether a scale can come to stand there.
  bool possible() const {
    int exponent = 0;
    return scale >= kLeast && scale <= kMost && std::frexp(scale, &exponent) == 0.5f &&
           good_steps >= 0 && good_steps < kGoodSteps && skipped_steps >= 0;
  }
  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_UPDATE_LOSS_SCALE_STATE_H_
