// F(m x m, r x r): how many outputs a tile has, and how many taps a filter.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_FORM_H_
#define DTNN_KERNELS_CONV_WINOGRAD_FORM_H_

#include <cstdint>

namespace dtnn::conv::winograd {

struct Form {
  int outputs = 0, taps = 0;

  // Inputs of a tile along each axis, and elements of a transformed one.
  int points() const { return outputs + taps - 1; }
  int64_t elements() const { return int64_t(points()) * points(); }
  bool operator==(const Form&) const = default;
};

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_FORM_H_
