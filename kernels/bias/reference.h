// Bias in plain loops and double precision: the definition that implementations are tested against.
// An activation is seen as (outer, channels, inner): NHWC (n*h*w, c, 1), NCHW (n, c, h*w), a matrix
// (rows, columns, 1).

#ifndef DTNN_KERNELS_BIAS_REFERENCE_H_
#define DTNN_KERNELS_BIAS_REFERENCE_H_

#include <cstdint>

namespace dtnn::reference {

inline void BiasForward(int64_t outer, int64_t channels, int64_t inner, const double* x,
                        const double* bias, double* y) {
  for (int64_t i = 0; i < outer * channels * inner; ++i) y[i] = x[i] + bias[i / inner % channels];
}

inline void BiasBackward(int64_t outer, int64_t channels, int64_t inner, const double* dy,
                         double* dbias, bool accumulate) {
  for (int64_t c = 0; c < channels && !accumulate; ++c) dbias[c] = 0;
  for (int64_t i = 0; i < outer * channels * inner; ++i) dbias[i / inner % channels] += dy[i];
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_BIAS_REFERENCE_H_
