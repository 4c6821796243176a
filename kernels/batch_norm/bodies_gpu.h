// The bodies of batch normalisation on a GPU, with the formulas of batch_norm.h. For the .cu files
// of this folder only.

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

// The same, for the gradient of x.
template <typename W, int kLanes>
struct NormGradientLine {
  NormLine<W, kLanes> line;
  W slope[kLanes], offset[kLanes];
  // `gradient`: dy where a relu lets it through.
  DTNN_HOST_DEVICE W At(int i, W x, W gradient) const {
    // A slope of 0 is that of inference, where an infinite x has no part in the gradient.
    const W sloped = slope[i] != W(0) ? slope[i] * (x - line.mean[i]) : W(0);
    return line.scale[i] * gradient + (sloped + offset[i]);
  }
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
  template <int kLanes>
  DTNN_HOST_DEVICE NormGradientLine<W, kLanes> GradientLine(
      const VectorChannels<kLanes>& at) const {
    NormGradientLine<W, kLanes> line;
    line.line = Line(at);
    for (int i = 0; i < kLanes; ++i) {
      line.slope[i] = values[3 * channels + at.At(i)];
      line.offset[i] = values[4 * channels + at.At(i)];
    }
    return line;
  }

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

// What says which elements of dy a relu after a sum let through; none: nothing has to.
enum class NormCut : uint8_t { kNone, kOutput, kSigns };

// Signs of an output of T in rows of channels: a byte per vector of 16 bytes, a bit per element,
// which is set where that is above 0, or NaN.
template <typename T, typename Byte>
struct NormSigns {
  static constexpr uint32_t kPerByte = uint32_t(gpu::kFullVector<T>);
  Byte* data = nullptr;
  int64_t row = 0;  // bytes of a row of channels

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    if constexpr (std::is_const_v<Byte>) {
      accesses.Reads(data, int64_t(grid.rows) * row);
    } else {
      accesses.Writes(data, int64_t(grid.rows) * row);
    }
  }
  // Bit i: of element i of the vector.
  template <int kLanes>
  DTNN_HOST_DEVICE uint32_t Load(const gpu::VectorCell& cell) const {
    const Byte* const bytes = data + int64_t(cell.row) * row;
    if constexpr (kLanes == gpu::kFullVector<T>) return bytes[cell.column];
    static_assert(kLanes == 1 || kLanes == gpu::kFullVector<T>);
    return uint32_t(bytes[cell.column / kPerByte]) >> (cell.column % kPerByte);
  }
  // Whole vectors only.
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, uint32_t bits) const {
    data[int64_t(cell.row) * row + cell.column] = Byte(bits);
  }
};

// Bit i of a vector's signs, of an element of the output.
template <typename W>
DTNN_HOST_DEVICE uint32_t SignBit(W y, int i) {
  return uint32_t(!(y <= 0)) << i;
}

// The signs of an output whose rows are not made of whole vectors in memory.
template <typename T>
struct NormSignsBody {
  const T* y;
  int64_t rows, pitch;
  NormSigns<T, uint8_t> signs;

  void Declare(int64_t bytes, gpu::Accesses& accesses) {
    accesses.Reads(y, rows, signs.row * signs.kPerByte, pitch);
    accesses.Writes(signs.data, bytes);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const T* const vector = y + i / signs.row * pitch + i % signs.row * signs.kPerByte;
    uint32_t bits = 0;
    for (uint32_t k = 0; k < signs.kPerByte; ++k) bits |= SignBit(Wide<T>(vector[k]), int(k));
    signs.data[i] = uint8_t(bits);
  }
};

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
  // `sums`: kSums of them.
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell&, const Loaded& loaded, const Kept& kept,
                            Sum (*sums)[kLanes]) const {
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

// With an addend, y has it too; else nobody looks at it. With kAddSigns, y's signs are kept.
enum class NormAddend : uint8_t { kNone, kAdd, kAddSigns };

template <typename T, int kVector, NormAddend kAddend>
struct NormApplyBody {
  using W = Wide<T>;
  static constexpr bool kAdd = kAddend != NormAddend::kNone;
  static constexpr bool kSigns = kAddend == NormAddend::kAddSigns;
  static constexpr int kLanes = kVector, kAhead = kAdd ? 2 : 4;
  bool relu, planes;
  ReadNormCoefficients<W> coefficients;
  gpu::VectorView<const T, kLanes> x, addend;
  gpu::VectorView<T, kLanes> y;
  NormSigns<T, uint8_t> signs;

  using Kept = NormLine<W, kLanes>;
  struct Loaded {
    gpu::Vector<T, kLanes> x, addend;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    x.Declare(grid, accesses);
    if (kAdd) addend.Declare(grid, accesses);
    y.Declare(grid, accesses);
    if (kSigns) signs.Declare(grid, accesses);
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
    [[maybe_unused]] uint32_t bits = 0;
    for (int i = 0; i < kLanes; ++i) {
      W value = line.At(i, W(loaded.x[i]));
      if constexpr (kAdd) value += W(loaded.addend[i]);
      const T rounded = T(relu && value < 0 ? W(0) : value);
      result.Set(i, rounded);
      if constexpr (kSigns) bits |= SignBit(W(rounded), i);
    }
    y.Store(cell, result);
    if constexpr (kSigns) signs.Store(cell, bits);
  }
};

// What cuts dy: y, or its signs.
template <typename T, int kVector, NormCut kCut>
struct NormCutter {
  using W = Wide<T>;
  gpu::VectorView<const T, kVector> y;
  NormSigns<T, const uint8_t> signs;

  // At: element i of y, or what has its sign.
  struct LoadedOutput {
    gpu::Vector<T, kVector> y;
    DTNN_HOST_DEVICE W At(int i) const { return W(y[i]); }
  };
  struct LoadedSigns {
    uint32_t bits;
    DTNN_HOST_DEVICE W At(int i) const { return W(bits >> i & 1); }
  };
  struct NothingLoaded {};
  using Loaded =
      std::conditional_t<kCut == NormCut::kOutput, LoadedOutput,
                         std::conditional_t<kCut == NormCut::kSigns, LoadedSigns, NothingLoaded>>;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    if (kCut == NormCut::kOutput) y.Declare(grid, accesses);
    if (kCut == NormCut::kSigns) signs.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Loaded Load([[maybe_unused]] const gpu::VectorCell& cell) const {
    if constexpr (kCut == NormCut::kOutput) return {y.Load(cell)};
    if constexpr (kCut == NormCut::kSigns) return {signs.template Load<kVector>(cell)};
    return {};
  }
};

// dy where a relu after y lets it through.
template <typename T, int kVector, NormCut kCut>
struct NormCutBody {
  using W = Wide<T>;
  using Cutter = NormCutter<T, kVector, kCut>;
  static constexpr int kLanes = kVector, kAhead = 2;
  Cutter by;
  gpu::VectorView<const T, kLanes> dy;
  gpu::VectorView<T, kLanes> cut;  // may be dy

  struct Kept {};
  struct Loaded {
    typename Cutter::Loaded by;
    gpu::Vector<T, kLanes> dy;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    by.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    cut.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell&) const { return {}; }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {by.Load(cell), dy.Load(cell)};
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept&) const {
    gpu::Vector<T, kLanes> result;
    for (int i = 0; i < kLanes; ++i) {
      result.Set(i, T(CutGradient(true, loaded.by.At(i), W(loaded.dy[i]))));
    }
    cut.Store(cell, result);
  }
};

// The sums of dy, where a relu lets it through, and of that times x - mean. Cut by y or its signs,
// dy is written over.
template <typename T, int kVector, NormCut kCut>
struct NormGradientsBody {
  using W = Wide<T>;
  using Cutter = NormCutter<T, kVector, kCut>;
  static constexpr bool kWrites = kCut != NormCut::kNone;
  static constexpr int kLanes = kVector, kAhead = 2, kSums = 2;
  using Sum = NormSum<T>;
  bool relu, planes;
  ReadNormCoefficients<W> coefficients;
  gpu::VectorView<const T, kLanes> x, dy;
  Cutter by;
  gpu::VectorView<T, kLanes> cut;

  using Kept = NormLine<W, kLanes>;
  struct Loaded {
    gpu::Vector<T, kLanes> x, dy;
    typename Cutter::Loaded by;
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    coefficients.Declare(accesses);
    x.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    if (!kWrites) return;
    by.Declare(grid, accesses);
    cut.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    return coefficients.Line(VectorChannels<kLanes>(planes, cell));
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {x.Load(cell), dy.Load(cell), by.Load(cell)};
  }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell& cell, const Loaded& loaded, const Kept& line,
                            Sum (&sums)[kSums][kLanes]) const {
    [[maybe_unused]] gpu::Vector<T, kLanes> passed;
    for (int i = 0; i < kLanes; ++i) {
      const W value = W(loaded.x[i]);
      const W output = OutputAt(i, value, loaded, line);
      const W gradient = CutGradient(relu, output, W(loaded.dy[i]));
      if constexpr (kWrites) passed.Set(i, T(gradient));
      sums[0][i] += Sum(gradient);
      sums[1][i] += Sum(gradient) * Sum(value - line.mean[i]);
    }
    if constexpr (kWrites) cut.Store(cell, passed);
  }

 private:
  DTNN_HOST_DEVICE static W OutputAt(int i, W x, const Loaded& loaded, const Kept& line) {
    if constexpr (kWrites) {
      return loaded.by.At(i);
    } else {
      return line.At(i, x);
    }
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

  using Kept = NormGradientLine<W, kLanes>;
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
    return coefficients.GradientLine(VectorChannels<kLanes>(planes, cell));
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
      const W sum = kept.At(i, value, gradient);
      result.Set(i, T(accumulate ? W(loaded.dx[i]) + sum : sum));
    }
    dx.Store(cell, result);
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_BODIES_GPU_H_
