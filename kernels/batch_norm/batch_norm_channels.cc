// Batch normalisation between the passes: from sums to statistics and gradients, and from those to
// coefficients. In double precision, a lane is a channel.

#include <algorithm>

#include "kernels/batch_norm/batch_norm_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm/batch_norm_channels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

using Pass = BatchNormPass;
using Channels = BatchNormChannels;

// The same lanes of another type.
template <class D, class Other>
HWY_INLINE auto Of(const Whole<D>&, Other other) {
  return Whole<Other>{other};
}
template <class D, class Other>
HWY_INLINE auto Of(const Part<D>& part, Other other) {
  return Part<Other>{other, part.lanes};
}

// T as double.
template <class Access, typename T>
HWY_INLINE auto Load(const Access& access, const T* from) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return access.Load(from);
  } else {
    const hn::Rebind<T, decltype(access.d)> narrow;
    return hn::PromoteTo(access.d, Of(access, narrow).Load(from));
  }
}
// Returns what was stored: `v` rounded to T.
template <class Access, class V, typename T>
HWY_INLINE V Store(const Access& access, V v, T* to) {
  if constexpr (sizeof(T) == sizeof(double)) {
    access.Store(v, to);
    return v;
  } else {
    const hn::Rebind<T, decltype(access.d)> narrow;
    const auto rounded = hn::DemoteTo(narrow, v);
    Of(access, narrow).Store(rounded, to);
    return hn::PromoteTo(access.d, rounded);
  }
}

template <class D, class V>
HWY_INLINE V NotNegative(D d, V v) {
  return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
}
template <class D, class V>
HWY_INLINE V InverseDeviation(D d, V variance, double epsilon) {
  return hn::Div(hn::Set(d, 1.0), hn::Sqrt(hn::Add(NotNegative(d, variance), hn::Set(d, epsilon))));
}

template <typename T>
void SetPivotOf(const Pass& pass, const Channels& c, double* sums) {
  constexpr int64_t kSamples = 16;
  Wide<T>* const pivot = c.At<Wide<T>>(Pass::kMean);
  const int64_t positions = pass.planes ? pass.columns : 1, count = pass.rows * positions;
  const int64_t samples = count < kSamples ? 1 : kSamples;
  std::fill_n(sums, c.channels, 0.0);
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t at = count * (2 * i + 1) / (2 * samples);
    const T* x = pass.x.At<const T>(at / positions, at % positions);
    const int64_t step = pass.planes ? positions : 1;
    for (int64_t k = 0; k < c.channels; ++k) sums[k] += double(x[k * step]);
  }
  for (int64_t k = 0; k < c.channels; ++k) pivot[k] = Wide<T>(sums[k] / double(samples));
}

template <typename T>
void FinishMomentsOf(const Channels& c, double count, const BatchStatistics& statistics) {
  double* mean = statistics.mean.data<double>();
  double* variance = statistics.variance.data<double>();
  const T* pivot = c.At<T>(Pass::kMean);
  ForEachVector<double>(c.channels, [&](const auto& access, int64_t k) HWY_ATTR {
    const auto d = access.d;
    const auto elements = hn::Set(d, count);
    const auto offset = hn::Div(access.Load(mean + k), elements);
    const auto square = hn::Div(access.Load(variance + k), elements);
    access.Store(hn::Add(Load(access, pivot + k), offset), mean + k);
    access.Store(NotNegative(d, hn::Sub(square, hn::Mul(offset, offset))), variance + k);
  });
}

// S: of the statistics.
template <typename T, typename S>
void SetLinesOf(const Channels& c, const Tensor& mean_of, const Tensor& variance_of,
                const BatchNormParameters& parameters) {
  const S *means = mean_of.data<S>(), *variances = variance_of.data<S>();
  const T *gammas = parameters.gamma.tensor.data<T>(), *betas = parameters.beta.tensor.data<T>();
  ForEachVector<double>(c.channels, [&](const auto& access, int64_t k) HWY_ATTR {
    const auto mean = Load(access, means + k);
    const auto inverse = InverseDeviation(access.d, Load(access, variances + k), c.epsilon);
    const auto scale = hn::Mul(Load(access, gammas + k), inverse);
    // What rounding took from the mean goes into the shift.
    const auto lost = hn::Sub(mean, Store(access, mean, c.At<T>(Pass::kMean) + k));
    Store(access, scale, c.At<T>(Pass::kScale) + k);
    Store(access, hn::Sub(Load(access, betas + k), hn::Mul(lost, scale)),
          c.At<T>(Pass::kShift) + k);
  });
}

template <typename T>
void FinishGradientsOf(const Channels& c, const BatchStatistics& statistics,
                       const double* beta_sums, const double* gamma_sums,
                       const BatchNormGradients& gradients) {
  const double* means = statistics.mean.data<double>();
  const double* variances = statistics.variance.data<double>();
  T *gammas = gradients.gamma.data<T>(), *betas = gradients.beta.data<T>();
  const T* rounded = c.At<T>(Pass::kMean);
  ForEachVector<double>(c.channels, [&](const auto& access, int64_t k) HWY_ATTR {
    const auto lost = hn::Sub(access.Load(means + k), Load(access, rounded + k));
    const auto beta = access.Load(beta_sums + k);
    const auto sum = hn::Sub(access.Load(gamma_sums + k), hn::Mul(lost, beta));
    const auto inverse = InverseDeviation(access.d, access.Load(variances + k), c.epsilon);
    Store(access, beta, betas + k);
    Store(access, hn::Mul(sum, inverse), gammas + k);
  });
}

template <typename T>
void SetSlopesOf(const Channels& c, double count, const BatchStatistics& statistics,
                 const BatchNormParameters& parameters, const BatchNormGradients& gradients) {
  const double* means = statistics.mean.data<double>();
  const double* variances = statistics.variance.data<double>();
  const T* gammas = parameters.gamma.tensor.data<T>();
  const T *gamma_gradients = gradients.gamma.data<T>(), *beta_gradients = gradients.beta.data<T>();
  const T* rounded = c.At<T>(Pass::kMean);
  ForEachVector<double>(c.channels, [&](const auto& access, int64_t k) HWY_ATTR {
    const auto elements = hn::Set(access.d, count);
    const auto inverse = InverseDeviation(access.d, access.Load(variances + k), c.epsilon);
    const auto scale = hn::Mul(Load(access, gammas + k), inverse);
    const auto per_gamma = hn::Div(Load(access, gamma_gradients + k), elements);
    const auto slope = hn::Neg(hn::Mul(hn::Mul(scale, inverse), per_gamma));
    const auto lost = hn::Sub(access.Load(means + k), Load(access, rounded + k));
    const auto per_beta = hn::Div(Load(access, beta_gradients + k), elements);
    Store(access, slope, c.At<T>(Pass::kSlope) + k);
    Store(access, hn::Neg(hn::Add(hn::Mul(scale, per_beta), hn::Mul(slope, lost))),
          c.At<T>(Pass::kOffset) + k);
  });
}

void SetPivot(const Pass& pass, const Channels& c, double* sums) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { SetPivotOf<decltype(zero)>(pass, c, sums); });
}
void FinishMoments(const Channels& c, double count, const BatchStatistics& statistics) {
  c.dtype == DType::kFloat32 ? FinishMomentsOf<float>(c, count, statistics)
                             : FinishMomentsOf<double>(c, count, statistics);
}
void SetLines(const Channels& c, const Tensor& mean, const Tensor& variance,
              const BatchNormParameters& parameters) {
  if (c.dtype == DType::kFloat64) {
    SetLinesOf<double, double>(c, mean, variance, parameters);
  } else if (mean.dtype() == DType::kFloat64) {
    SetLinesOf<float, double>(c, mean, variance, parameters);
  } else {
    SetLinesOf<float, float>(c, mean, variance, parameters);
  }
}
void FinishGradients(const Channels& c, const BatchStatistics& statistics, const double* beta_sums,
                     const double* gamma_sums, const BatchNormGradients& gradients) {
  c.dtype == DType::kFloat32
      ? FinishGradientsOf<float>(c, statistics, beta_sums, gamma_sums, gradients)
      : FinishGradientsOf<double>(c, statistics, beta_sums, gamma_sums, gradients);
}
void SetSlopes(const Channels& c, double count, const BatchStatistics& statistics,
               const BatchNormParameters& parameters, const BatchNormGradients& gradients) {
  c.dtype == DType::kFloat32 ? SetSlopesOf<float>(c, count, statistics, parameters, gradients)
                             : SetSlopesOf<double>(c, count, statistics, parameters, gradients);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {
HWY_EXPORT(SetPivot);
HWY_EXPORT(FinishMoments);
HWY_EXPORT(SetLines);
HWY_EXPORT(FinishGradients);
HWY_EXPORT(SetSlopes);
}  // namespace

void BatchNormSetPivot(const BatchNormPass& pass, const BatchNormChannels& channels, double* sums) {
  HWY_DYNAMIC_DISPATCH(SetPivot)(pass, channels, sums);
}
void BatchNormFinishMoments(const BatchNormChannels& channels, double count,
                            const BatchStatistics& statistics) {
  HWY_DYNAMIC_DISPATCH(FinishMoments)(channels, count, statistics);
}
void BatchNormSetLines(const BatchNormChannels& channels, const Tensor& mean,
                       const Tensor& variance, const BatchNormParameters& parameters) {
  HWY_DYNAMIC_DISPATCH(SetLines)(channels, mean, variance, parameters);
}
void BatchNormFinishGradients(const BatchNormChannels& channels, const BatchStatistics& statistics,
                              const double* beta_sums, const double* gamma_sums,
                              const BatchNormGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(FinishGradients)(channels, statistics, beta_sums, gamma_sums, gradients);
}
void BatchNormSetSlopes(const BatchNormChannels& channels, double count,
                        const BatchStatistics& statistics, const BatchNormParameters& parameters,
                        const BatchNormGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(SetSlopes)(channels, count, statistics, parameters, gradients);
}

}  // namespace dtnn
#endif  // HWY_ONCE
