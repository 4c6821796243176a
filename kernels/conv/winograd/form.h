// F(m x m, r x r): how many outputs a tile has, and how many taps a filter; which tiles a
// convolution is computed with.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_FORM_H_
#define DTNN_KERNELS_CONV_WINOGRAD_FORM_H_

#include <cstdint>
#include <optional>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn::conv::winograd {

inline constexpr int64_t kMostTaps = 5;  // along an axis

struct Form {
  int outputs = 0, taps = 0;
  // The rounding error in proportion to that of a sum in order.
  double error = 1;

  // Inputs of a tile along each axis, and elements of a transformed one.
  constexpr int points() const { return outputs + taps - 1; }
  constexpr int64_t elements() const { return int64_t(points()) * points(); }
};

// The form with the fewest products for the images of a spec with stride and dilation 1, or nullopt
// where there is none for its kernel.
std::optional<Form> ChooseForm(const Conv2dSpec& spec, Direction direction);

// Forward and for the filter they cover the outputs, backwards the input's gradient.
int64_t TilesPerImage(const Conv2dSpec& spec, Direction direction, Form form);

// By how much the products of the taps that read the images are more than those of the form: at
// most outputs^2 * taps^2 / elements, and less where tiles reach beyond an edge or taps into the
// padding.
double ProductsSaved(const Conv2dSpec& spec, Direction direction, Form form);

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_FORM_H_
