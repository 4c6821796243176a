// The bodies of batch normalisation on a GPU, with the formulas of batch_norm.h. For
// batch_norm_gpu.cu only.

#ifndef DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/gpu/channels.h"
#include "kernels/gpu/runner.h"

namespace dtnn {

// Per channel: of an element x, with d = x - mean, the output is scale * d + shift,
// and the gradient scale * dy + slope * d + offset.
template <typename W>
struct NormCoefficients {
  static constexpr int64_t kArrays = 5;
  int64_t channels;
  W* values;

  DTNN_HOST_DEVICE W& mean(int64_t c) const { return values[c]; }
  DTNN_HOST_DEVICE W& scale(int64_t c) const { return values[channels + c]; }
  DTNN_HOST_DEVICE W& shift(int64_t c) const { return values[2 * channels + c]; }
  DTNN_HOST_DEVICE W& slope(int64_t c) const { return values[3 * channels + c]; }
  DTNN_HOST_DEVICE W& offset(int64_t c) const { return values[4 * channels + c]; }

  void Declare(gpu::Accesses& accesses) { accesses.Writes(values, kArrays * channels); }
};

// Those of a vector's channels.
template <typename W, int kLanes>
struct NormLine {
  W mean[kLanes], scale[kLanes], shift[kLanes];
  DTNN_HOST_DEVICE W At(int i, W x) const { return scale[i] * (x - mean[i]) + shift[i]; }
};

template <typename W>
struct ReadNormCoefficients {
  int64_t channels;
  const W* values;

  template <int kLanes>
  DTNN_HOST_DEVICE NormLine<W, kLanes> Line(const VectorChannels<kLanes>& at) const {
    NormLine<W, kLanes> line;
    for (int i = 0; i < kLanes; ++i) {
      const W* const value = values + at.At(i);
      line.mean[i] = value[0];
      line.scale[i] = value[channels];
      line.shift[i] = value[2 * channels];
    }
    return line;
  }
  DTNN_HOST_DEVICE W mean(int64_t c) const { return values[c]; }
  DTNN_HOST_DEVICE W slope(int64_t c) const { return values[3 * channels + c]; }
  DTNN_HOST_DEVICE W offset(int64_t c) const { return values[4 * channels + c]; }

  void Declare(gpu::Accesses& accesses) {
    accesses.Reads(values, NormCoefficients<W>::kArrays * channels);
  }
};

// What a relu after y lets through of dy; a NaN of either stays one.
template <typename W>
DTNN_HOST_DEVICE W CutGradient(bool relu, W y, W dy) {
  if (!relu || y > 0 || std::isnan(dy)) return dy;
  return y < 0 ? W(0) : y;
}

DTNN_HOST_DEVICE inline double InverseDeviation(double variance, double epsilon) {
  return 1 / std::sqrt((variance < 0 ? 0.0 : variance) + epsilon);
}

// The type of a thread's sums: elements of 16 bits are coarser than float32's rounding.
template <typename T>
using NormSum = std::conditional_t<std::is_same_v<Wide<T>, T>, double, float>;

// Sums of the distances from an element in the middle of the channel, and of their squares: the
// first elements lie in the corner of an image.
template <typename T, int kVector>
struct MomentsBody {
  static constexpr int kLanes = kVector, kAhead = 4, kSums = 2;
  using Sum = NormSum<T>;
  bool planes;
  gpu::VectorView<const T, kLanes> x;
  int64_t middle_row, middle_column;

  struct Kept {
    Sum pivot[kLanes];
  };
  using Loaded = gpu::Vector<T, kLanes>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) { x.Declare(grid, accesses); }
  // A value of each channel, near which sums of squares are exact.
  DTNN_HOST_DEVICE const T* pivots() const {
    return x.data + middle_row * x.row + (planes ? middle_column : 0);
  }
  DTNN_HOST_DEVICE int64_t pivot_step() const { return planes ? x.group : 1; }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> channels(planes, cell);
    Kept kept;
    for (int i = 0; i < kLanes; ++i) kept.pivot[i] = Sum(pivots()[channels.At(i) * pivot_step()]);
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return x.Load(cell); }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell&, const Loaded& loaded, const Kept& kept,
                            Sum (&sums)[kSums][kLanes]) const {
    for (int i = 0; i < kLanes; ++i) {
      const Sum d = Sum(loaded[i]) - kept.pivot[i];
      sums[0][i] += d;
      sums[1][i] += d * d;
    }
  }
};

template <typename W>
struct TrackedStatistics {
  double momentum = 0;
  W *mean = nullptr, *variance = nullptr;  // null: none

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Writes(mean, channels);
    accesses.Writes(variance, channels);
  }
  DTNN_HOST_DEVICE W Moved(W running, double batch) const {
    return W(momentum * double(running) + (1 - momentum) * batch);
  }
  DTNN_HOST_DEVICE void Track(int64_t c, double batch_mean, double batch_variance) const {
    if (mean == nullptr) return;
    mean[c] = Moved(mean[c], batch_mean);
    variance[c] = Moved(variance[c], batch_variance);
  }
};

template <typename W>
struct NormTrackBody {
  const double *mean, *variance;
  TrackedStatistics<W> running;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    running.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c) const { running.Track(c, mean[c], variance[c]); }
};

// Mean, scale and shift from statistics of a batch or running ones; and, where gradients of gamma
// and beta are given, slope and offset.
template <typename W>
struct NormLineMaker {
  double epsilon = 0, count = 1;
  const W *gamma = nullptr, *beta = nullptr;
  NormCoefficients<W> to = {};  // without memory: not made

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(gamma, channels);
    accesses.Reads(beta, channels);
    to.Declare(accesses);
  }
  DTNN_HOST_DEVICE bool wanted() const { return to.values != nullptr; }
  DTNN_HOST_DEVICE void Make(int64_t c, double mean, double variance) const {
    const double scale = double(gamma[c]) * InverseDeviation(variance, epsilon);
    to.mean(c) = W(mean);
    to.scale(c) = W(scale);
    // What rounding took from the mean goes into the shift.
    to.shift(c) = W(double(beta[c]) - (mean - double(to.mean(c))) * scale);
    to.slope(c) = to.offset(c) = W(0);
  }
  DTNN_HOST_DEVICE void MakeSlope(int64_t c, double mean, double variance, double dgamma,
                                  double dbeta) const {
    const double inverse = InverseDeviation(variance, epsilon), scale = double(gamma[c]) * inverse;
    const double slope = -(scale * inverse) * (dgamma / count);
    to.slope(c) = W(slope);
    to.offset(c) = W(-(scale * (dbeta / count) + slope * (mean - double(W(mean)))));
  }
};

// S: of the statistics.
template <typename W, typename S>
struct NormLineBody {
  const S *mean, *variance;
  const W *dgamma, *dbeta;  // or null
  NormLineMaker<W> line;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    accesses.Reads(dgamma, channels);
    accesses.Reads(dbeta, channels);
    line.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c) const {
    line.Make(c, double(mean[c]), double(variance[c]));
    if (dgamma == nullptr) return;
    line.MakeSlope(c, double(mean[c]), double(variance[c]), double(dgamma[c]), double(dbeta[c]));
  }
};

// What the sums of MomentsBody say: statistics, and what follows from them.
template <typename T>
struct MomentsFinish {
  using W = Wide<T>;
  double count;
  const T* pivots;  // of the channels, which lie `step` elements apart
  int64_t step;
  double *mean, *variance;
  TrackedStatistics<W> running;
  NormLineMaker<W> line;

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(pivots, channels, 1, step);
    accesses.Writes(mean, channels);
    accesses.Writes(variance, channels);
    running.Declare(channels, accesses);
    line.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c, const double (&sums)[2]) const {
    const double offset = sums[0] / count, rest = (sums[1] - offset * sums[0]) / count;
    mean[c] = double(pivots[c * step]) + offset;
    variance[c] = rest < 0 ? 0 : rest;
    running.Track(c, mean[c], variance[c]);
    if (line.wanted()) line.Make(c, mean[c], variance[c]);
  }
};

// With kAdd, y has the addend too, which nobody looks at else.
template <typename T, int kVector, bool kAdd>
struct NormApplyBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = kAdd ? 2 : 4;
  bool relu, planes;
  ReadNormCoefficients<W> coefficients;
  gpu::VectorView<const T, kLanes> x, addend;
  gpu::VectorView<T, kLanes> y;

  using Kept = NormLine<W, kLanes>;
  struct Loaded {
    gpu::Vector<T, kLanes> x, addend;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    x.Declare(grid, accesses);
    if (kAdd) addend.Declare(grid, accesses);
    y.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    return coefficients.Line(VectorChannels<kLanes>(planes, cell));
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded;
    loaded.x = x.Load(cell);
    if constexpr (kAdd) loaded.addend = addend.Load(cell);
    return loaded;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& line) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      W value = line.At(i, W(loaded.x[i]));
      if constexpr (kAdd) value += W(loaded.addend[i]);
      result.Set(i, T(relu && value < 0 ? W(0) : value));
    }
    y.Store(cell, result);
  }
};

// dy where a relu after y lets it through.
template <typename T, int kVector>
struct NormCutBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 2;
  gpu::VectorView<const T, kLanes> y, dy;
  gpu::VectorView<T, kLanes> cut;  // may be dy

  struct Kept {};
  struct Loaded {
    gpu::Vector<T, kLanes> y, dy;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    y.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    cut.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {y.Load(cell), dy.Load(cell)};
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      result.Set(i, T(CutGradient(true, W(loaded.y[i]), W(loaded.dy[i]))));
    }
    cut.Store(cell, result);
  }
};

// The sums of dy, where a relu lets it through, and of that times x - mean. With kCut, y says what
// the relu lets through, and that is written over dy.
template <typename T, int kVector, bool kCut>
struct NormGradientsBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 2, kSums = 2;
  using Sum = NormSum<T>;
  bool relu, planes;
  ReadNormCoefficients<W> coefficients;
  gpu::VectorView<const T, kLanes> x, dy, y;
  gpu::VectorView<T, kLanes> cut;

  using Kept = NormLine<W, kLanes>;
  struct Loaded {
    gpu::Vector<T, kLanes> x, dy, y;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    x.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    if (!kCut) return;
    y.Declare(grid, accesses);
    cut.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    return coefficients.Line(VectorChannels<kLanes>(planes, cell));
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded;
    loaded.x = x.Load(cell);
    loaded.dy = dy.Load(cell);
    if constexpr (kCut) loaded.y = y.Load(cell);
    return loaded;
  }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell& cell, const Loaded& loaded, const Kept& line,
                            Sum (&sums)[kSums][kLanes]) const {
    [[maybe_unused]] gpu::Vector<T, kLanes> passed;
    for (int i = 0; i < kLanes; ++i) {
      const W value = W(loaded.x[i]);
      const W output = kCut ? W(loaded.y[i]) : line.At(i, value);
      const W gradient = CutGradient(relu, output, W(loaded.dy[i]));
      if constexpr (kCut) passed.Set(i, T(gradient));
      sums[0][i] += Sum(gradient);
      sums[1][i] += Sum(gradient) * Sum(value - line.mean[i]);
    }
    if constexpr (kCut) cut.Store(cell, passed);
  }
};

template <typename W>
struct NormGradientsFinish {
  double epsilon;
  const double *mean, *variance;
  W *dgamma, *dbeta;
  NormLineMaker<W> line;  // with memory: the slope and the offset are made too

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    accesses.Reads(mean, channels);
    accesses.Reads(variance, channels);
    accesses.Writes(dgamma, channels);
    accesses.Writes(dbeta, channels);
    line.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c, const double (&sums)[2]) const {
    const double lost = mean[c] - double(W(mean[c]));
    const double gradient = (sums[1] - lost * sums[0]) * InverseDeviation(variance[c], epsilon);
    dbeta[c] = W(sums[0]);
    dgamma[c] = W(gradient);
    if (line.wanted()) line.MakeSlope(c, mean[c], variance[c], double(dgamma[c]), double(dbeta[c]));
  }
};

template <typename T, int kVector>
struct NormDataBody {
  using W = Wide<T>;
  static constexpr int kLanes = kVector, kAhead = 2;
  bool relu, accumulate, planes;
  ReadNormCoefficients<W> coefficients;
  gpu::VectorView<const T, kLanes> x, dy;
  gpu::VectorView<T, kLanes> dx;

  struct Kept {
    NormLine<W, kLanes> line;
    W slope[kLanes], offset[kLanes];
  };
  struct Loaded {
    gpu::Vector<T, kLanes> x, dy, dx;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    x.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    dx.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> channels(planes, cell);
    Kept kept;
    kept.line = coefficients.Line(channels);
    for (int i = 0; i < kLanes; ++i) {
      kept.slope[i] = coefficients.slope(channels.At(i));
      kept.offset[i] = coefficients.offset(channels.At(i));
    }
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    Loaded loaded = {x.Load(cell), dy.Load(cell), {}};
    if (accumulate) loaded.dx = gpu::LoadVector<kLanes, T>(dx.At(cell));
    return loaded;
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      const W value = W(loaded.x[i]);
      const W gradient = CutGradient(relu, kept.line.At(i, value), W(loaded.dy[i]));
      // A slope of 0 is that of inference, where an infinite x has no part in the gradient.
      const W sloped = kept.slope[i] != W(0) ? kept.slope[i] * (value - kept.line.mean[i]) : W(0);
      const W sum = kept.line.scale[i] * gradient + (sloped + kept.offset[i]);
      result.Set(i, T(accumulate ? W(loaded.dx[i]) + sum : sum));
    }
    dx.Store(cell, result);
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_
