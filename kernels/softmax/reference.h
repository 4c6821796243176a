// Softmax and softmax with cross entropy in plain loops and double precision: the definition that
// implementations are tested against. Each function handles one row.

#ifndef DTNN_KERNELS_SOFTMAX_REFERENCE_H_
#define DTNN_KERNELS_SOFTMAX_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace dtnn::reference {

inline void SoftmaxForward(std::span<const double> x, std::span<double> y) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (size_t j = 0; j < x.size(); ++j) sum += std::exp(x[j] - max);
  for (size_t j = 0; j < x.size(); ++j) y[j] = std::exp(x[j] - max) / sum;
}

inline void SoftmaxBackward(std::span<const double> y, std::span<const double> dy,
                            std::span<double> dx, bool accumulate) {
  double dot = 0;
  for (size_t j = 0; j < y.size(); ++j) dot += y[j] * dy[j];
  for (size_t j = 0; j < y.size(); ++j) {
    dx[j] = (accumulate ? dx[j] : 0) + y[j] * (dy[j] - dot);
  }
}

// The cross entropy of softmax(x) with the smoothed target, by log-sum-exp; the clip is the
// label's.
inline double CrossEntropy(std::span<const double> x, size_t label, double smoothing = 0) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0, distances = 0;
  for (const double value : x) {
    sum += std::exp(value - max);
    distances += max - value;
  }
  const double all = std::log(sum) + distances / double(x.size());
  const double one =
      std::clamp(std::log(sum) + max - x[label], -std::log1p(-1e-8), -std::log(1e-8));
  return (1 - smoothing) * one + smoothing * all;
}

inline void CrossEntropyGradient(std::span<const double> y, size_t label, double gradient_scale,
                                 std::span<double> dx, double smoothing = 0) {
  for (size_t j = 0; j < y.size(); ++j) {
    const double target = (j == label ? 1 - smoothing : 0) + smoothing / double(y.size());
    dx[j] = (y[j] - target) * gradient_scale;
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_SOFTMAX_REFERENCE_H_
