// Concatenation in plain loops: the definition that implementations are tested against. A tensor is
// seen as (outer, channels, inner): NHWC (n*h*w, c, 1), NCHW (n, c, h*w), a matrix
// (rows, columns, 1).

#ifndef DTNN_KERNELS_CONCAT_REFERENCE_H_
#define DTNN_KERNELS_CONCAT_REFERENCE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace dtnn::reference {

// channels[i] is the number of channels of inputs[i].
inline std::vector<double> Concat(int64_t outer, int64_t inner, std::span<const int64_t> channels,
                                  std::span<const std::vector<double>> inputs) {
  std::vector<double> y;
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t row = channels[i] * inner;
      y.insert(y.end(), inputs[i].begin() + o * row, inputs[i].begin() + (o + 1) * row);
    }
  }
  return y;
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_CONCAT_REFERENCE_H_
