// How the channels of a pixel become steps of tiles of one depth.
//
// A tile product takes as long for a depth of 2 as for 32, and all steps of a configuration have
// one depth. So a run of elements that lie side by side, the channels of a pixel or those of all
// pixels of a row of the kernel, is divided into as few equal steps as possible; where they do not
// divide evenly, the copy of the images has a few more channels, which are zero. Nothing else may
// lie there: infinity times the zero of the padded filter would be NaN.

#ifndef DTNN_KERNELS_CONV_AMX_DEPTH_H_
#define DTNN_KERNELS_CONV_AMX_DEPTH_H_

#include <cstdint>

#include "tensor/rounding.h"

namespace dtnn::conv::amx {

struct Depth {
  int64_t channels = 0;  // of a pixel, with the zeros
  int64_t step = 0;      // elements of a step: even, at most 32
  int64_t steps = 0;     // of a run

  // For runs of `pixels` pixels.
  static Depth Of(int64_t channels, int64_t pixels) {
    constexpr int64_t kMost = 32;
    for (int64_t padded = RoundUp(channels, 2);; padded += 2) {
      const int64_t length = padded * pixels, steps = CeilDiv(length, kMost);
      if (length % steps == 0 && length / steps % 2 == 0) return {padded, length / steps, steps};
    }
  }
};

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_DEPTH_H_
