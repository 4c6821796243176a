// The bodies of two normalisations at once on a GPU, with the formulas of batch_norm.h: those of
// bodies_gpu.h, twice. For norm_pair_gpu.cu only.

#ifndef DTNN_KERNELS_BATCH_NORM_NORM_PAIR_BODIES_GPU_H_
#define DTNN_KERNELS_BATCH_NORM_NORM_PAIR_BODIES_GPU_H_

#include "kernels/batch_norm/bodies_gpu.h"

namespace dtnn {

// The two sums of MomentsBody, of each.
template <typename T, int kVector>
struct PairMomentsBody {
  using Moments = MomentsBody<T, kVector>;
  static constexpr int kLanes = kVector, kAhead = 2, kSums = 2 * Moments::kSums;
  using Sum = typename Moments::Sum;
  Moments of[2];

  struct Kept {
    typename Moments::Kept of[2];
  };
  struct Loaded {
    typename Moments::Loaded of[2];
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (Moments& each : of) each.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    return {of[0].Keep(cell), of[1].Keep(cell)};
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {of[0].Load(cell), of[1].Load(cell)};
  }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell& cell, const Loaded& loaded, const Kept& kept,
                            Sum (*sums)[kLanes]) const {
    DTNN_GPU_UNROLL
    for (int term = 0; term < 2; ++term) {
      of[term].Add(cell, loaded.of[term], kept.of[term], sums + term * Moments::kSums);
    }
  }
};

template <typename T>
struct PairMomentsFinish {
  MomentsFinish<T> of[2];

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    for (MomentsFinish<T>& each : of) each.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c, const double (&sums)[4]) const {
    of[0](c, {sums[0], sums[1]});
    of[1](c, {sums[2], sums[3]});
  }
};

// The sum of both, where kAddend is not kNone: with kAddSigns, its signs are kept.
template <typename T, int kVector, NormAddend kAddend>
struct PairApplyBody {
  using W = Wide<T>;
  static constexpr bool kSigns = kAddend == NormAddend::kAddSigns;
  static constexpr int kLanes = kVector, kAhead = 2;
  bool relu, planes;
  ReadNormCoefficients<W> coefficients[2];
  gpu::VectorView<const T, kLanes> x[2];
  gpu::VectorView<T, kLanes> y;
  NormSigns<T, uint8_t> signs;

  struct Kept {
    NormLine<W, kLanes> of[2];
  };
  struct Loaded {
    gpu::Vector<T, kLanes> x[2];
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (auto& each : coefficients) each.Declare(accesses);
    for (auto& each : x) each.Declare(grid, accesses);
    y.Declare(grid, accesses);
    if (kSigns) signs.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> channels(planes, cell);
    return {coefficients[0].Line(channels), coefficients[1].Line(channels)};
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {x[0].Load(cell), x[1].Load(cell)};
  }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    gpu::Vector<T, kLanes> result;
    [[maybe_unused]] uint32_t bits = 0;
    for (int i = 0; i < kLanes; ++i) {
      const W value = kept.of[1].At(i, W(loaded.x[1][i])) + kept.of[0].At(i, W(loaded.x[0][i]));
      const T rounded = T(relu && value < 0 ? W(0) : value);
      result.Set(i, rounded);
      if constexpr (kSigns) bits |= SignBit(W(rounded), i);
    }
    y.Store(cell, result);
    if constexpr (kSigns) signs.Store(cell, bits);
  }
};

// Both x, and dy with what cuts it.
template <typename T, int kVector, NormCut kCut>
struct PairGradientInputs {
  using W = Wide<T>;
  using Cutter = NormCutter<T, kVector, kCut>;
  gpu::VectorView<const T, kVector> x[2], dy;
  Cutter by;

  struct Loaded {
    gpu::Vector<T, kVector> x[2], dy;
    typename Cutter::Loaded by;

    // Element i of dy, where the relu lets it through.
    DTNN_HOST_DEVICE W Gradient(int i) const {
      if constexpr (kCut == NormCut::kNone) {
        return W(dy[i]);
      } else {
        return CutGradient(true, by.At(i), W(dy[i]));
      }
    }
  };

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (auto& each : x) each.Declare(grid, accesses);
    dy.Declare(grid, accesses);
    by.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const {
    return {{x[0].Load(cell), x[1].Load(cell)}, dy.Load(cell), by.Load(cell)};
  }
};

// The sum of dy, where a relu lets it through, and those of that times x - mean, of each.
template <typename T, int kVector, NormCut kCut>
struct PairGradientsBody {
  using W = Wide<T>;
  using Inputs = PairGradientInputs<T, kVector, kCut>;
  static constexpr int kLanes = kVector, kAhead = 2, kSums = 3;
  using Sum = NormSum<T>;
  bool planes;
  ReadNormCoefficients<W> coefficients[2];
  Inputs inputs;

  struct Kept {
    W mean[2][kLanes];
  };
  using Loaded = typename Inputs::Loaded;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (auto& each : coefficients) each.Declare(accesses);
    inputs.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> channels(planes, cell);
    Kept kept;
    for (int i = 0; i < kLanes; ++i) {
      kept.mean[0][i] = coefficients[0].mean(channels.At(i));
      kept.mean[1][i] = coefficients[1].mean(channels.At(i));
    }
    return kept;
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return inputs.Load(cell); }
  DTNN_HOST_DEVICE void Add(const gpu::VectorCell&, const Loaded& loaded, const Kept& kept,
                            Sum (&sums)[kSums][kLanes]) const {
    for (int i = 0; i < kLanes; ++i) {
      const Sum gradient = Sum(loaded.Gradient(i));
      sums[0][i] += gradient;
      sums[1][i] += gradient * Sum(W(loaded.x[0][i]) - kept.mean[0][i]);
      sums[2][i] += gradient * Sum(W(loaded.x[1][i]) - kept.mean[1][i]);
    }
  }
};

template <typename W>
struct PairGradientsFinish {
  NormGradientsFinish<W> of[2];

  void Declare(int64_t channels, gpu::Accesses& accesses) {
    for (NormGradientsFinish<W>& each : of) each.Declare(channels, accesses);
  }
  DTNN_HOST_DEVICE void operator()(int64_t c, const double (&sums)[3]) const {
    of[0](c, {sums[0], sums[1]});
    of[1](c, {sums[0], sums[2]});
  }
};

// The gradients of both x.
template <typename T, int kVector, NormCut kCut>
struct PairDataBody {
  using W = Wide<T>;
  using Inputs = PairGradientInputs<T, kVector, kCut>;
  static constexpr int kLanes = kVector, kAhead = 1;
  bool planes;
  ReadNormCoefficients<W> coefficients[2];
  Inputs inputs;
  gpu::VectorView<T, kLanes> dx[2];

  struct Kept {
    NormGradientLine<W, kLanes> of[2];
  };
  using Loaded = typename Inputs::Loaded;

  void Declare(const gpu::VectorGrid& grid, gpu::Accesses& accesses) {
    for (auto& each : coefficients) each.Declare(accesses);
    inputs.Declare(grid, accesses);
    for (auto& each : dx) each.Declare(grid, accesses);
  }
  DTNN_HOST_DEVICE Kept Keep(const gpu::VectorCell& cell) const {
    const VectorChannels<kLanes> channels(planes, cell);
    return {coefficients[0].GradientLine(channels), coefficients[1].GradientLine(channels)};
  }
  DTNN_HOST_DEVICE Loaded Load(const gpu::VectorCell& cell) const { return inputs.Load(cell); }
  DTNN_HOST_DEVICE void Store(const gpu::VectorCell& cell, const Loaded& loaded,
                              const Kept& kept) const {
    W gradient[kLanes];
    for (int i = 0; i < kLanes; ++i) gradient[i] = loaded.Gradient(i);
    DTNN_GPU_UNROLL
    for (int term = 0; term < 2; ++term) {
      gpu::Vector<T, kLanes> result;
      for (int i = 0; i < kLanes; ++i) {
        result.Set(i, T(kept.of[term].At(i, W(loaded.x[term][i]), gradient[i])));
      }
      dx[term].Store(cell, result);
    }
  }
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BATCH_NORM_NORM_PAIR_BODIES_GPU_H_
