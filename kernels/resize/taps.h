// A resizing as sums along each axis: which elements an output is made of, and their factors.
// Turned round, it is the gradient: which outputs an element is in.

#ifndef DTNN_KERNELS_RESIZE_TAPS_H_
#define DTNN_KERNELS_RESIZE_TAPS_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "kernels/resize/resize.h"

namespace dtnn::resize {

// Elements first .. first + count - 1, whose factors begin at number `factor`.
struct Taps {
  int64_t first = 0, count = 0, factor = 0;
};

struct Axis {
  int64_t from = 0;             // elements that are read
  std::vector<Taps> taps = {};  // of each element that is written
  std::vector<double> factors = {};
  std::vector<float> short_factors = {};  // the same in float32

  int64_t to() const { return int64_t(taps.size()); }
  template <typename W>
  const W* FactorsOf(const Taps& tap) const {
    if constexpr (std::is_same_v<W, double>) {
      return factors.data() + tap.factor;
    } else {
      return short_factors.data() + tap.factor;
    }
  }
};

Axis AxisOf(int64_t in, int64_t out, ResizeMode mode, bool align_corners);
// From dy to dx.
Axis Turned(const Axis& axis);

// The taps of an axis tap by tap, for vectors of outputs; empty where outputs have many.
struct ColumnTable {
  int64_t from = 0, to = 0, most = 0;  // elements, outputs, taps of an output
  // Of tap t of output c at t * to + c; where an output has no such tap, the place is that of its
  // last one or, without any, that of the output before it.
  std::vector<int32_t> places = {};
  std::vector<double> factors = {};
  std::vector<float> short_factors = {};
  std::vector<double> counts = {};  // taps of each output
  std::vector<float> short_counts = {};

  static ColumnTable Of(const Axis& axis);

  template <typename W>
  const W* Factors() const {
    if constexpr (std::is_same_v<W, double>) {
      return factors.data();
    } else {
      return short_factors.data();
    }
  }
  template <typename W>
  const W* Counts() const {
    if constexpr (std::is_same_v<W, double>) {
      return counts.data();
    } else {
      return short_counts.data();
    }
  }
};

// One direction: from x to y, or from dy to dx.
struct Pass {
  Axis rows, columns;
  ColumnTable table = {};  // of columns, for planes

  static Pass Of(Axis rows, Axis columns, TensorFormat format);
  static Pass Forward(const ResizeSpec& spec);
  static Pass Backward(const ResizeSpec& spec);
};

// What every implementation checks before a call.
absl::Status CheckImages(const ResizeSpec& spec, Device device, std::string_view in_name,
                         const Tensor& in, std::string_view out_name, const Tensor& out);

}  // namespace dtnn::resize

#endif  // DTNN_KERNELS_RESIZE_TAPS_H_
