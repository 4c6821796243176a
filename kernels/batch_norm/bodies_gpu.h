// The bodies of batch normalisation on a GPU, with the formulas of batch_norm.h. For
// batch_norm_gpu.cu only.

#ifndef DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_

#include <cmath>
#include <cstdint>

#include "kernels/channels_gpu.h"
#include "kernels/gpu_runner.h"

namespace dtnn {

// Per channel: of an element x, with d = x - mean, the output is scale * d + shift,
// and the gradient scale * dy + slope * d + offset.
template <typename T>
struct NormCoefficients {
  static constexpr int64_t kArrays = 5;
  int64_t channels;
  T* values;

  DTNN_HOST_DEVICE T& mean(int64_t c) const { return values[c]; }
  DTNN_HOST_DEVICE T& scale(int64_t c) const { return values[channels + c]; }
  DTNN_HOST_DEVICE T& shift(int64_t c) const { return values[2 * channels + c]; }
  DTNN_HOST_DEVICE T& slope(int64_t c) const { return values[3 * channels + c]; }
  DTNN_HOST_DEVICE T& offset(int64_t c) const { return values[4 * channels + c]; }

  void Declare(gpu::Accesses& accesses) { accesses.Writes(values, kArrays * channels); }
};

// Those of a pass that only reads them.
template <typename T>
struct ReadNormCoefficients {
  int64_t channels;
  const T* values;

  struct Line {
    T mean, scale, shift;
    DTNN_HOST_DEVICE T At(T x) const { return scale * (x - mean) + shift; }
  };
  DTNN_HOST_DEVICE Line line(int64_t c) const {
    return {values[c], values[channels + c], values[2 * channels + c]};
  }
  DTNN_HOST_DEVICE T mean(int64_t c) const { return values[c]; }
  DTNN_HOST_DEVICE T slope(int64_t c) const { return values[3 * channels + c]; }
  DTNN_HOST_DEVICE T offset(int64_t c) const { return values[4 * channels + c]; }

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(values, NormCoefficients<T>::kArrays * channels);
  }
};

// What a relu after y lets through of dy; a NaN of either stays one.
template <typename T>
DTNN_HOST_DEVICE T CutGradient(bool relu, T y, T dy) {
  if (!relu || y > 0 || std::isnan(dy)) return dy;
  return y < 0 ? T(0) : y;
}

template <typename T>
DTNN_HOST_DEVICE T InverseDeviation(T variance, T epsilon) {
  return 1 / std::sqrt((variance < 0 ? T(0) : variance) + epsilon);
}

// A pair of sums per part of a channel: (2, parts, channels).
struct PairOfSums {
  double* sums;
  int64_t size;  // of one array

  void Declare(gpu::Accesses& accesses) { accesses.Writes(sums, 2 * size); }
};

// Of each part, the mean and the sum of squared distances from it. Differences are taken from an
// element in the middle of the part: the first ones lie in the corner of an image.
template <typename T>
struct MomentsBody {
  ChannelLayout layout;
  ChannelParts parts;
  const T* x;
  int64_t pitch;
  PairOfSums sums;

  void Declare(int64_t, gpu::Accesses& accesses) {
    accesses.Reads(x, layout.outer, layout.row(), pitch);
    sums.Declare(accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t channel = parts.ChannelOf(i), part = parts.PartOf(i);
    const int64_t count = parts.CountOf(part, layout.positions());
    const double pivot = double(x[layout.At(part + count / 2 * parts.parts, channel, pitch)]);
    double sum = 0, square = 0;
    for (int64_t p = part; p < layout.positions(); p += parts.parts) {
      const double d = double(x[layout.At(p, channel, pitch)]) - pivot;
      sum += d;
      square += d * d;
    }
    const double offset = sum / double(count), rest = square - offset * sum;
    sums.sums[parts.At(part, channel)] = pivot + offset;
    sums.sums[sums.size + parts.At(part, channel)] = rest < 0 ? 0 : rest;
  }
};

// Parts joined two by two (Chan, Golub and LeVeque, 1983).
struct MomentsTotalBody {
  ChannelLayout layout;
  ChannelParts parts;
  const double* sums;
  double *mean, *variance;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(sums, 2 * parts.threads());
    accesses.Writes(mean, channels);
    accesses.Writes(variance, channels);
  }
  DTNN_HOST_DEVICE void operator()(int64_t channel) const {
    double count = 0, center = 0, squares = 0;
    for (int64_t part = 0; part < parts.parts; ++part) {
      const double more = double(parts.CountOf(part, layout.positions())), all = count + more;
      const double distance = sums[parts.At(part, channel)] - center;
      center += distance * (more / all);
      squares += sums[parts.threads() + parts.At(part, channel)] +
                 distance * distance * (count * (more / all));
      count = all;
    }
    mean[channel] = center;
    variance[channel] = squares / count;
  }
};

// Mean, scale and shift; and, where gradients of gamma and beta are given, slope and offset.
// S: of the statistics.
template <typename T, typename S>
struct NormLineBody {
  double epsilon, count;
  const S *mean, *variance;
  const T *gamma, *beta, *dgamma, *dbeta;
  NormCoefficients<T> to;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    for (const T** vector : {&gamma, &beta, &dgamma, &dbeta}) accesses.Reads(*vector, channels);
    to.Declare(accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c) const {
    const double inverse = InverseDeviation(double(variance[c]), epsilon);
    const double scale = double(gamma[c]) * inverse;
    to.mean(c) = T(mean[c]);
    // What rounding took from the mean goes into the shift.
    const double lost = double(mean[c]) - double(to.mean(c));
    to.scale(c) = T(scale);
    to.shift(c) = T(double(beta[c]) - lost * scale);
    if (dgamma == nullptr) {
      to.slope(c) = to.offset(c) = T(0);
      return;
    }
    const double slope = -(scale * inverse) * (double(dgamma[c]) / count);
    to.slope(c) = T(slope);
    to.offset(c) = T(-(scale * (double(dbeta[c]) / count) + slope * lost));
  }
};

template <typename T>
struct NormTrackBody {
  double momentum;
  const double *mean, *variance;
  T *running_mean, *running_variance;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    accesses.Writes(running_mean, channels);
    accesses.Writes(running_variance, channels);
  }
  DTNN_HOST_DEVICE T Moved(T running, double batch) const {
    return T(momentum * double(running) + (1 - momentum) * batch);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c) const {
    running_mean[c] = Moved(running_mean[c], mean[c]);
    running_variance[c] = Moved(running_variance[c], variance[c]);
  }
};

template <typename T>
struct NormApplyBody {
  using W = Wide<T>;
  bool relu;
  ChannelLayout layout;
  ReadNormCoefficients<W> coefficients;
  const T* x;
  int64_t x_pitch;
  T* y;
  int64_t y_pitch;

  void Declare(int64_t, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    accesses.Reads(x, layout.outer, layout.row(), x_pitch);
    accesses.Writes(y, layout.outer, layout.row(), y_pitch);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t outer = i / layout.row(), rest = i % layout.row();
    const W value = coefficients.line(layout.ChannelAt(rest)).At(W(x[outer * x_pitch + rest]));
    y[outer * y_pitch + rest] = T(relu && value < 0 ? W(0) : value);
  }
};

// The sums of dy, where a relu lets it through, and of that times x - mean.
template <typename T>
struct NormGradientsBody {
  using W = Wide<T>;
  bool relu;
  ChannelLayout layout;
  ChannelParts parts;
  ReadNormCoefficients<W> coefficients;
  const T* x;
  int64_t x_pitch;
  const T* dy;
  int64_t dy_pitch;
  PairOfSums sums;

  void Declare(int64_t, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    accesses.Reads(x, layout.outer, layout.row(), x_pitch);
    accesses.Reads(dy, layout.outer, layout.row(), dy_pitch);
    sums.Declare(accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t channel = parts.ChannelOf(i), part = parts.PartOf(i);
    const auto line = coefficients.line(channel);
    double sum = 0, product = 0;
    for (int64_t p = part; p < layout.positions(); p += parts.parts) {
      const W value = W(x[layout.At(p, channel, x_pitch)]);
      const W gradient = CutGradient(relu, line.At(value), W(dy[layout.At(p, channel, dy_pitch)]));
      sum += double(gradient);
      product += double(gradient) * double(value - line.mean);
    }
    sums.sums[parts.At(part, channel)] = sum;
    sums.sums[sums.size + parts.At(part, channel)] = product;
  }
};

template <typename T>
struct NormGradientsTotalBody {
  double epsilon;
  ChannelParts parts;
  const double *sums, *mean, *variance;
  ReadNormCoefficients<T> coefficients;
  T *dgamma, *dbeta;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(sums, 2 * parts.threads());
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    coefficients.Declare(accesses);
    accesses.Writes(dgamma, channels);
    accesses.Writes(dbeta, channels);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c) const {
    double sum = 0, product = 0;
    for (int64_t part = 0; part < parts.parts; ++part) {
      sum += sums[parts.At(part, c)];
      product += sums[parts.threads() + parts.At(part, c)];
    }
    const double lost = mean[c] - double(coefficients.mean(c));
    dbeta[c] = T(sum);
    dgamma[c] = T((product - lost * sum) * InverseDeviation(variance[c], epsilon));
  }
};

template <typename T>
struct NormDataBody {
  using W = Wide<T>;
  bool relu, accumulate;
  ChannelLayout layout;
  ReadNormCoefficients<W> coefficients;
  const T* x;
  int64_t x_pitch;
  const T* dy;
  int64_t dy_pitch;
  T* dx;
  int64_t dx_pitch;

  void Declare(int64_t, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    accesses.Reads(x, layout.outer, layout.row(), x_pitch);
    accesses.Reads(dy, layout.outer, layout.row(), dy_pitch);
    accesses.Writes(dx, layout.outer, layout.row(), dx_pitch);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t outer = i / layout.row(), rest = i % layout.row();
    const int64_t channel = layout.ChannelAt(rest);
    const auto line = coefficients.line(channel);
    const W value = W(x[outer * x_pitch + rest]);
    const W gradient = CutGradient(relu, line.At(value), W(dy[outer * dy_pitch + rest]));
    // A slope of 0 is that of inference, where an infinite x has no part in the gradient.
    const W slope = coefficients.slope(channel);
    const W sloped = slope != W(0) ? slope * (value - line.mean) : W(0);
    const W result = line.scale * gradient + (sloped + coefficients.offset(channel));
    T& to = dx[outer * dx_pitch + rest];
    to = T(accumulate ? W(to) + result : result);
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_
