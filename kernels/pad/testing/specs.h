// Paddings that tests of all implementations try.

#ifndef DTNN_KERNELS_PAD_TESTING_SPECS_H_
#define DTNN_KERNELS_PAD_TESTING_SPECS_H_

#include <cstdint>
#include <iterator>
#include <vector>

#include "kernels/pad/pad.h"

namespace dtnn::testing {

inline PadSpec SpecOf(const ImageExtents& image, int64_t top, int64_t bottom, int64_t left,
                      int64_t right) {
  return {.image = image, .top = top, .bottom = bottom, .left = left, .right = right, .value = 3};
}

inline std::vector<PadSpec> SpecsOf(PadMode mode) {
  // Mirrors fit into each.
  std::vector<PadSpec> specs = {SpecOf({1, 1, 1}, 0, 0, 0, 0), SpecOf({2, 3, 1}, 1, 0, 0, 2),
                                SpecOf({4, 5, 3}, 3, 2, 4, 1), SpecOf({5, 4, 17}, 0, 4, 3, 3),
                                SpecOf({3, 2, 8}, 2, 2, 1, 1)};
  if (mode != PadMode::kReflect) {  // more than an image has, and images of one pixel
    specs.push_back(SpecOf({1, 1, 2}, 3, 1, 2, 4));
    specs.push_back(SpecOf({2, 3, 5}, 7, 0, 0, 9));
  }
  for (PadSpec& spec : specs) spec.mode = mode;
  return specs;
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_PAD_TESTING_SPECS_H_
