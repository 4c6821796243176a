// Batch normalisation in plain loops and double precision: the definition that implementations are
// tested against. An activation is seen as (outer, channels, inner): NHWC (n*h*w, c, 1), NCHW (n,
// c, h*w), a matrix (rows, columns, 1).

#ifndef DTNN_KERNELS_BATCH_NORM_REFERENCE_H_
#define DTNN_KERNELS_BATCH_NORM_REFERENCE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dtnn::reference {

struct BatchNorm {
  int64_t outer, channels, inner;
  double epsilon;
  bool relu;
  std::vector<double> gamma, beta;

  using Values = std::vector<double>;
  double count() const { return double(outer * inner); }
  size_t size() const { return size_t(outer * channels * inner); }
  size_t ChannelOf(size_t i) const { return i / size_t(inner) % size_t(channels); }

  void Statistics(const Values& x, Values& mean, Values& variance) const {
    mean.assign(size_t(channels), 0);
    variance = mean;
    // From the channel's first element on, or the roundings of a large mean would add up.
    const auto first = [&](size_t c) { return x[c * size_t(inner)]; };
    for (size_t i = 0; i < size(); ++i) mean[ChannelOf(i)] += x[i] - first(ChannelOf(i));
    for (size_t c = 0; c < mean.size(); ++c) mean[c] = first(c) + mean[c] / count();
    for (size_t i = 0; i < size(); ++i) {
      const double deviation = x[i] - mean[ChannelOf(i)];
      variance[ChannelOf(i)] += deviation * deviation / count();
    }
  }

  double Normalised(size_t i, const Values& x, const Values& mean, const Values& variance) const {
    const size_t c = ChannelOf(i);
    return (x[i] - mean[c]) / std::sqrt((variance[c] < 0 ? 0 : variance[c]) + epsilon);
  }

  // `addend`: empty or as large as x.
  Values Apply(const Values& x, const Values& mean, const Values& variance,
               const Values& addend = {}) const {
    Values y(size());
    for (size_t i = 0; i < size(); ++i) {
      const size_t c = ChannelOf(i);
      y[i] = gamma[c] * Normalised(i, x, mean, variance) + beta[c];
      if (!addend.empty()) y[i] += addend[i];
      if (relu && y[i] < 0) y[i] = 0;
    }
    return y;
  }

  // The gradient before a relu whose output is y: where there is an addend, its gradient, and what
  // the functions below take in the place of dy, without a relu.
  static Values Cut(const Values& y, Values dy) {
    for (size_t i = 0; i < dy.size(); ++i) {
      if (!(y[i] > 0)) dy[i] = std::isnan(y[i]) ? y[i] : 0 * dy[i];
    }
    return dy;
  }

  // The gradient of x where mean and variance do not follow from it.
  Values BackwardInfer(const Values& x, const Values& dy, const Values& mean,
                       const Values& variance) const {
    const Values y = Apply(x, mean, variance);
    Values dx(size());
    for (size_t i = 0; i < size(); ++i) {
      const size_t c = ChannelOf(i);
      const double deviation = std::sqrt((variance[c] < 0 ? 0 : variance[c]) + epsilon);
      dx[i] = relu && y[i] <= 0 ? 0 * dy[i] : gamma[c] / deviation * dy[i];
    }
    return dx;
  }

  // The gradients of gamma, beta and x for mean and variance of this x.
  void Backward(const Values& x, const Values& dy, Values& dgamma, Values& dbeta,
                Values& dx) const {
    Values mean, variance;
    Statistics(x, mean, variance);
    const Values y = Apply(x, mean, variance);
    dgamma.assign(size_t(channels), 0);
    dbeta = dgamma;
    dx.resize(size());
    const auto slope = [&](size_t i) { return relu && y[i] <= 0 ? 0 * dy[i] : dy[i]; };
    for (size_t i = 0; i < size(); ++i) {
      dbeta[ChannelOf(i)] += slope(i);
      dgamma[ChannelOf(i)] += slope(i) * Normalised(i, x, mean, variance);
    }
    for (size_t i = 0; i < size(); ++i) {
      const size_t c = ChannelOf(i);
      dx[i] =
          gamma[c] / std::sqrt(variance[c] + epsilon) *
          (slope(i) - dbeta[c] / count() - Normalised(i, x, mean, variance) * dgamma[c] / count());
    }
  }
};

}  // namespace dtnn::reference

#endif  // DTNN_KERNELS_BATCH_NORM_REFERENCE_H_
