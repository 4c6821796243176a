// Slices that tests of all implementations try.

#ifndef DTNN_KERNELS_IMAGE_SLICE_TESTING_SPECS_H_
#define DTNN_KERNELS_IMAGE_SLICE_TESTING_SPECS_H_

#include <vector>

#include "kernels/image_slice/image_slice.h"

namespace dtnn::testing {

inline std::vector<ImageSliceSpec> ImageSliceSpecs() {
  return {{.image = {1, 1, 1}},
          {.image = {4, 5, 3}, .count = {4, 5}},                              // all of it
          {.image = {4, 5, 17}, .begin = {1, 2}, .count = {2, 3}},            // a crop
          {.image = {6, 7, 8}, .begin = {1, 0}, .count = {3, 4}, .step = 2},  // a last column
          {.image = {6, 8, 1}, .begin = {0, 1}, .count = {3, 4}, .step = 2},  // none at the end
          {.image = {9, 3, 7}, .begin = {2, 1}, .count = {3, 2}, .step = {3, 1}},   // rows alone
          {.image = {3, 10, 2}, .begin = {0, 1}, .count = {3, 2}, .step = {1, 4}},  // columns alone
          {.image = {2, 3, 5}, .begin = {1, 2}, .count = {1, 1}, .step = {7, 9}}};  // large steps
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_IMAGE_SLICE_TESTING_SPECS_H_
