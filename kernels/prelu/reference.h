// PRelu in plain loops and double precision: the definition that implementations are tested
// against. An activation is seen as (outer, channels, inner), as in kernels/bias/reference.h; with
// one slope, (elements, 1, 1).

#ifndef DTNN_KERNELS_PRELU_REFERENCE_H_
#define DTNN_KERNELS_PRELU_REFERENCE_H_

#include <cstddef>
#include <span>

namespace dtnn::reference {

struct PReluView {
  size_t channels, inner;
  size_t ChannelOf(size_t i) const { return i / inner % channels; }
};

inline void PReluForward(const PReluView& view, std::span<const double> x,
                         std::span<const double> slopes, std::span<double> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] > 0 ? x[i] : slopes[view.ChannelOf(i)] * x[i];
}

inline void PReluBackward(const PReluView& view, std::span<const double> x,
                          std::span<const double> slopes, std::span<const double> dy,
                          std::span<double> dx, bool accumulate) {
  for (size_t i = 0; i < x.size(); ++i) {
    dx[i] = (accumulate ? dx[i] : 0) + (x[i] > 0 ? 1 : slopes[view.ChannelOf(i)]) * dy[i];
  }
}

inline void PReluSlopeGradient(const PReluView& view, std::span<const double> x,
                               std::span<const double> dy, std::span<double> dslopes) {
  for (double& sum : dslopes) sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0)) dslopes[view.ChannelOf(i)] += x[i] * dy[i];
  }
}

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_PRELU_REFERENCE_H_
