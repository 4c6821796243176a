#include "kernels/group_norm/group_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/elementwise/operands.h"
#include "kernels/group_norm/check.h"
#include "kernels/group_norm/group_norm_gpu.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/group_norm/group_norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_GROUP_NORM_GROUP_NORM_CC_
#define DTNN_KERNELS_GROUP_NORM_GROUP_NORM_CC_
namespace dtnn {

// Elements that are summed before the sum is added to the rest: a chain over a whole image would
// round too much. And pixels of one task, where planes are normalised pixel by pixel.
inline constexpr int64_t kGroupNormChain = 256, kGroupNormTile = 256;

struct GroupNormPass {
  const GroupNormSpec* spec = nullptr;
  // y: dx where it is the backward pass; without data where nobody wants it.
  Operand x = {}, dy = {}, y = {};
  const void *gamma = nullptr, *beta = nullptr;
  bool accumulate = false;
  // In the backward pass, of each image: dbeta and dgamma; then those of a chain of pixels (NHWC),
  // or mean and 1 / s of the pixels (in planes).
  void* sums = nullptr;
  int64_t sums_of_image = 0;  // elements
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_GROUP_NORM_GROUP_NORM_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// A set in memory: rows of neighbouring elements.
template <typename T>
struct Rows {
  T* first;
  int64_t step, count, length;
  T* operator[](int64_t row) const { return first + row * step; }
};

bool Planes(const GroupNormPass& pass) { return pass.spec->format == TensorFormat::kNCHW; }

// Set `set` of an image: pixels by channels, or channels by pixels. Not of pixels in planes.
template <typename T>
Rows<T> RowsOf(const GroupNormPass& pass, const Operand& operand, int64_t image, int64_t set) {
  const GroupNormSpec& spec = *pass.spec;
  const int64_t channels = spec.group_channels();
  if (Planes(pass)) {
    return {operand.At<T>(image, set * channels * spec.positions), spec.positions, channels,
            spec.positions};
  }
  const int64_t pixel = set / spec.groups, group = set % spec.groups;
  return {operand.At<T>(image * spec.positions + pixel, group * channels), operand.pitch,
          spec.per_pixel ? 1 : spec.positions, channels};
}

// The sum of term(access, i) for i < count.
template <typename T, class Term>
HWY_INLINE double SumOf(int64_t count, const Term& term) {
  const hn::ScalableTag<Wide<T>> d;
  double total = 0;
  for (int64_t first = 0; first < count; first += kGroupNormChain) {
    auto sum = hn::Zero(d);
    ForEachVector<T>(std::min(kGroupNormChain, count - first),
                     [&](const auto& at, int64_t i)
                         HWY_ATTR { sum = hn::Add(sum, term(at, first + i)); });
    total += double(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

template <typename T>
struct Moments {
  Wide<T> mean, inverse;  // 1 / s
};

template <typename T>
Moments<T> MomentsOf(const GroupNormSpec& spec, const Rows<const T>& x) {
  const double count = double(x.count * x.length);
  double sum = 0, squares = 0;
  for (int64_t row = 0; row < x.count; ++row) {
    const T* const from = x[row];
    sum +=
        SumOf<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR { return at.Load(from + i); });
  }
  const auto mean = Wide<T>(sum / count);
  for (int64_t row = 0; row < x.count; ++row) {
    const T* const from = x[row];
    squares += SumOf<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR {
      const auto deviation = hn::Sub(at.Load(from + i), hn::Set(at.d, mean));
      // Lanes behind the end are 0, not the mean.
      return hn::IfThenElseZero(hn::FirstN(at.d, at.count()), hn::Mul(deviation, deviation));
    });
  }
  return {mean, Wide<T>(1 / std::sqrt(squares / count + spec.epsilon))};
}

template <typename T>
void ForwardSet(const GroupNormPass& pass, int64_t image, int64_t set) {
  const auto x = RowsOf<const T>(pass, pass.x, image, set);
  const auto y = RowsOf<T>(pass, pass.y, image, set);
  const Moments<T> moments = MomentsOf<T>(*pass.spec, x);
  const int64_t channel = set % pass.spec->groups * pass.spec->group_channels();
  const Wide<T>*const gamma = static_cast<const Wide<T>*>(pass.gamma) + channel,
                      *const beta = static_cast<const Wide<T>*>(pass.beta) + channel;
  for (int64_t row = 0; row < x.count; ++row) {
    const T* const from = x[row];
    T* const to = y[row];
    ForEachVector<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR {
      const auto d = at.d;
      const auto z = hn::Mul(hn::Sub(at.Load(from + i), hn::Set(d, moments.mean)),
                             hn::Set(d, moments.inverse));
      const auto factor = Planes(pass) ? hn::Set(d, gamma[row]) : at.Load(gamma + i);
      const auto shift = Planes(pass) ? hn::Set(d, beta[row]) : at.Load(beta + i);
      at.Store(hn::MulAdd(z, factor, shift), to + i);
    });
  }
}

// Mean and 1 / s of the pixels from `x` on in a group of planes, each a set: a lane each.
template <typename T, class Access, class V>
HWY_INLINE void FindMoments(const GroupNormSpec& spec, const Access& at, const T* x, V& mean,
                            V& inverse) {
  const auto d = at.d;
  const int64_t channels = spec.group_channels();
  const auto share = hn::Set(d, Wide<T>(1.0 / double(channels)));
  auto sum = hn::Zero(d), squares = sum;
  for (int64_t c = 0; c < channels; ++c) sum = hn::Add(sum, at.Load(x + c * spec.positions));
  mean = hn::Mul(sum, share);
  for (int64_t c = 0; c < channels; ++c) {
    const auto deviation = hn::Sub(at.Load(x + c * spec.positions), mean);
    squares = hn::MulAdd(deviation, deviation, squares);
  }
  const auto s = hn::Sqrt(hn::MulAdd(squares, share, hn::Set(d, Wide<T>(spec.epsilon))));
  inverse = hn::Div(hn::Set(d, Wide<T>(1)), s);
}

template <typename T>
void ForwardPixels(const GroupNormPass& pass, int64_t image, int64_t group, int64_t begin,
                   int64_t end) {
  const GroupNormSpec& spec = *pass.spec;
  const int64_t channels = spec.group_channels(), first = group * channels;
  const T* const x = pass.x.At<const T>(image, first * spec.positions + begin);
  T* const y = pass.y.At<T>(image, first * spec.positions + begin);
  const Wide<T>*const gamma = static_cast<const Wide<T>*>(pass.gamma) + first,
                      *const beta = static_cast<const Wide<T>*>(pass.beta) + first;
  ForEachVector<T>(end - begin, [&](const auto& at, int64_t i) HWY_ATTR {
    const auto d = at.d;
    auto mean = hn::Zero(d), inverse = mean;
    FindMoments(spec, at, x + i, mean, inverse);
    for (int64_t c = 0; c < channels; ++c) {
      const auto z = hn::Mul(hn::Sub(at.Load(x + c * spec.positions + i), mean), inverse);
      at.Store(hn::MulAdd(z, hn::Set(d, gamma[c]), hn::Set(d, beta[c])),
               y + c * spec.positions + i);
    }
  });
}

template <typename T, class Access, class V>
HWY_INLINE void KeepGradient(const GroupNormPass& pass, const Access& at, V value, T* dx) {
  at.Store(pass.accumulate ? hn::Add(at.Load(dx), value) : value, dx);
}

// dx of one row of a set, whose g sums to `mean_g` and g * z to `mean_gz`, each by its size. gamma
// is one number for a row of a plane.
template <typename T>
void GradientOfRow(const GroupNormPass& pass, const Moments<T>& moments, double mean_g,
                   double mean_gz, const Wide<T>* gamma, int64_t count, const T* x, const T* dy,
                   T* dx) {
  ForEachVector<T>(count, [&](const auto& at, int64_t i) HWY_ATTR {
    const auto d = at.d;
    const auto inverse = hn::Set(d, moments.inverse);
    const auto z = hn::Mul(hn::Sub(at.Load(x + i), hn::Set(d, moments.mean)), inverse);
    const auto factor = Planes(pass) ? hn::Set(d, *gamma) : at.Load(gamma + i);
    const auto g = hn::Sub(hn::Mul(factor, at.Load(dy + i)), hn::Set(d, Wide<T>(mean_g)));
    const auto value = hn::Mul(hn::NegMulAdd(z, hn::Set(d, Wide<T>(mean_gz)), g), inverse);
    KeepGradient(pass, at, value, dx + i);
  });
}

// `dbeta`, `dgamma`: of the set's channels. In NHWC the sums of a chain of pixels lie `chain`
// elements further on.
template <typename T>
void BackwardSet(const GroupNormPass& pass, int64_t image, int64_t set, Wide<T>* dbeta,
                 Wide<T>* dgamma, int64_t chain) {
  const auto x = RowsOf<const T>(pass, pass.x, image, set);
  const auto dy = RowsOf<const T>(pass, pass.dy, image, set);
  const Moments<T> moments = MomentsOf<T>(*pass.spec, x);
  const int64_t channel = set % pass.spec->groups * pass.spec->group_channels();
  const Wide<T>* const gamma = static_cast<const Wide<T>*>(pass.gamma) + channel;
  const auto z = [&](const auto& at, const T* from) HWY_ATTR {
    return hn::Mul(hn::Sub(at.Load(from), hn::Set(at.d, moments.mean)),
                   hn::Set(at.d, moments.inverse));
  };
  const int64_t first_pixel = pass.spec->per_pixel ? set / pass.spec->groups : 0;
  const auto end_chain = [&](Wide<T>* sums) {
    const Wide<T>* const all = sums;
    Transform(Sum(), x.length, sums, all, all + chain);
    std::fill_n(sums + chain, x.length, Wide<T>(0));
  };
  double sum_g = 0, sum_gz = 0;
  for (int64_t row = 0; row < x.count; ++row) {
    const T *const of_x = x[row], *const of_dy = dy[row];
    if (Planes(pass)) {
      const double sum = SumOf<T>(
          x.length, [&](const auto& at, int64_t i) HWY_ATTR { return at.Load(of_dy + i); });
      const double product = SumOf<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR {
        return hn::Mul(at.Load(of_dy + i), z(at, of_x + i));
      });
      dbeta[row] += Wide<T>(sum);
      dgamma[row] += Wide<T>(product);
      sum_g += double(gamma[row]) * sum;
      sum_gz += double(gamma[row]) * product;
    } else {
      sum_g += SumOf<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR {
        const auto of_row = at.Load(of_dy + i);
        Wide<T>* const to = dbeta + chain + i;
        at.Store(hn::Add(at.Load(to), of_row), to);
        return hn::Mul(of_row, at.Load(gamma + i));
      });
      sum_gz += SumOf<T>(x.length, [&](const auto& at, int64_t i) HWY_ATTR {
        const auto product = hn::Mul(at.Load(of_dy + i), z(at, of_x + i));
        Wide<T>* const to = dgamma + chain + i;
        at.Store(hn::Add(at.Load(to), product), to);
        return hn::Mul(product, at.Load(gamma + i));
      });
      const int64_t pixels = first_pixel + row + 1;
      if (pixels % kGroupNormChain == 0 || pixels == pass.spec->positions) {
        end_chain(dbeta);
        end_chain(dgamma);
      }
    }
  }
  if (pass.y.data == nullptr) return;
  const auto dx = RowsOf<T>(pass, pass.y, image, set);
  const double share = 1 / double(x.count * x.length);
  for (int64_t row = 0; row < x.count; ++row) {
    GradientOfRow<T>(pass, moments, sum_g * share, sum_gz * share, gamma + (Planes(pass) ? row : 0),
                     x.length, x[row], dy[row], dx[row]);
  }
}

// All pixels of a group of an image in planes, each a set. `means`, `inverses`: room for a number
// per pixel.
template <typename T>
void BackwardPixels(const GroupNormPass& pass, int64_t image, int64_t group, Wide<T>* dbeta,
                    Wide<T>* dgamma, Wide<T>* means, Wide<T>* inverses) {
  const GroupNormSpec& spec = *pass.spec;
  const int64_t channels = spec.group_channels(), pixels = spec.positions;
  const T *const x = pass.x.At<const T>(image, group * channels * pixels),
                 *const dy = pass.dy.At<const T>(image, group * channels * pixels);
  const Wide<T>* const gamma = static_cast<const Wide<T>*>(pass.gamma) + group * channels;
  ForEachVector<T>(pixels, [&](const auto& at, int64_t i) HWY_ATTR {
    auto mean = hn::Zero(at.d), inverse = mean;
    FindMoments(spec, at, x + i, mean, inverse);
    at.Store(mean, means + i);
    at.Store(inverse, inverses + i);
  });
  const auto z = [&](const auto& at, int64_t c, int64_t i) HWY_ATTR {
    return hn::Mul(hn::Sub(at.Load(x + c * pixels + i), at.Load(means + i)), at.Load(inverses + i));
  };
  for (int64_t c = 0; c < channels; ++c) {
    dbeta[c] += Wide<T>(SumOf<T>(
        pixels, [&](const auto& at, int64_t i) HWY_ATTR { return at.Load(dy + c * pixels + i); }));
    dgamma[c] += Wide<T>(SumOf<T>(pixels, [&](const auto& at, int64_t i) HWY_ATTR {
      return hn::Mul(at.Load(dy + c * pixels + i), z(at, c, i));
    }));
  }
  if (pass.y.data == nullptr) return;
  T* const dx = pass.y.At<T>(image, group * channels * pixels);
  ForEachVector<T>(pixels, [&](const auto& at, int64_t i) HWY_ATTR {
    const auto d = at.d;
    const auto share = hn::Set(d, Wide<T>(1.0 / double(channels)));
    auto mean_g = hn::Zero(d), mean_gz = mean_g;
    for (int64_t c = 0; c < channels; ++c) {
      const auto g = hn::Mul(at.Load(dy + c * pixels + i), hn::Set(d, gamma[c]));
      mean_g = hn::Add(mean_g, g);
      mean_gz = hn::MulAdd(g, z(at, c, i), mean_gz);
    }
    mean_g = hn::Mul(mean_g, share);
    mean_gz = hn::Mul(mean_gz, share);
    for (int64_t c = 0; c < channels; ++c) {
      const auto g = hn::Mul(at.Load(dy + c * pixels + i), hn::Set(d, gamma[c]));
      const auto value =
          hn::Mul(hn::NegMulAdd(z(at, c, i), mean_gz, hn::Sub(g, mean_g)), at.Load(inverses + i));
      KeepGradient(pass, at, value, dx + c * pixels + i);
    }
  });
}

bool OfPixelsInPlanes(const GroupNormPass& pass) { return pass.spec->per_pixel && Planes(pass); }

// Tasks: sets, or tiles of pixels.
void Forward(const GroupNormPass& pass, int64_t begin, int64_t end) {
  const GroupNormSpec& spec = *pass.spec;
  DispatchCpuFloating(spec.dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    for (int64_t task = begin; task < end; ++task) {
      if (!OfPixelsInPlanes(pass)) {
        ForwardSet<T>(pass, task / spec.sets_per_image(), task % spec.sets_per_image());
        continue;
      }
      const int64_t tiles = CeilDiv(spec.positions, kGroupNormTile);
      const int64_t first = task % tiles * kGroupNormTile, group = task / tiles;
      ForwardPixels<T>(pass, group / spec.groups, group % spec.groups, first,
                       std::min(spec.positions, first + kGroupNormTile));
    }
  });
}

void Backward(const GroupNormPass& pass, int64_t begin, int64_t end) {
  const GroupNormSpec& spec = *pass.spec;
  DispatchCpuFloating(spec.dtype, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    for (int64_t image = begin; image < end; ++image) {
      auto* const dbeta = static_cast<Wide<T>*>(pass.sums) + image * pass.sums_of_image;
      auto* const dgamma = dbeta + spec.channels;
      auto* const means = dgamma + spec.channels;
      std::fill_n(dbeta, (Planes(pass) ? 2 : 4) * spec.channels, Wide<T>(0));
      for (int64_t set = 0; set < (OfPixelsInPlanes(pass) ? spec.groups : spec.sets_per_image());
           ++set) {
        const int64_t channel = set % spec.groups * spec.group_channels();
        if (OfPixelsInPlanes(pass)) {
          BackwardPixels<T>(pass, image, set, dbeta + channel, dgamma + channel, means,
                            means + spec.positions);
        } else {
          BackwardSet<T>(pass, image, set, dbeta + channel, dgamma + channel, 2 * spec.channels);
        }
      }
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

class GroupNormCpu : public GroupNorm {
 public:
  explicit GroupNormCpu(const GroupNormSpec& spec) : spec_(spec) {}

  absl::Status Forward(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                       const Tensor& y) override {
    DTNN_RETURN_IF_ERROR(CheckGroupNorm(spec_, Device::Cpu(), x, {&y}, {&gamma, &beta}));
    const GroupNormPass pass = {.spec = &spec_,
                                .x = OperandOf(x),
                                .y = OperandOf(y),
                                .gamma = gamma.raw_data(),
                                .beta = beta.raw_data()};
    const bool tiles = spec_.per_pixel && planes();
    const int64_t of_image =
        tiles ? spec_.groups * CeilDiv(spec_.positions, kGroupNormTile) : spec_.sets_per_image();
    const int64_t elements = spec_.channels * spec_.positions / of_image;
    ParallelFor(0, x.shape()[0] * of_image, std::max<int64_t>(1, kMathGrain / elements),
                [&](int64_t begin, int64_t end) {
                  HWY_DYNAMIC_DISPATCH(Forward)(pass, begin, end);
                });
    return absl::OkStatus();
  }

  size_t workspace_bytes() const override {
    return size_t(spec_.batch * SumsOfImage()) * SizeOf(WideOf(spec_.dtype));
  }

  absl::Status Backward(const Tensor& x, const Tensor& dy, const Tensor& gamma, const Tensor& dx,
                        bool accumulate, const Tensor& dgamma, const Tensor& dbeta,
                        Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckGroupNormBackward(spec_, Device::Cpu(), x, dy, gamma, dx, dgamma,
                                                dbeta, workspace, workspace_bytes()));
    const GroupNormPass pass = {.spec = &spec_,
                                .x = OperandOf(x),
                                .dy = OperandOf(dy),
                                .y = dx.empty() ? Operand() : OperandOf(dx),
                                .gamma = gamma.raw_data(),
                                .accumulate = accumulate,
                                .sums = workspace.data(),
                                .sums_of_image = SumsOfImage()};
    const int64_t images = x.shape()[0];
    ParallelFor(0, images, 1, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(Backward)(pass, begin, end);
    });
    if (dgamma.empty()) return absl::OkStatus();
    return DispatchFloating(dgamma.dtype(), [&]<typename W>(W) {
      const W* const sums = reinterpret_cast<const W*>(workspace.data());
      for (int64_t c = 0; c < spec_.channels; ++c) {
        double beta_sum = 0, gamma_sum = 0;
        for (int64_t image = 0; image < images; ++image) {
          beta_sum += double(sums[image * SumsOfImage() + c]);
          gamma_sum += double(sums[image * SumsOfImage() + spec_.channels + c]);
        }
        dbeta.data<W>()[c] = W(beta_sum);
        dgamma.data<W>()[c] = W(gamma_sum);
      }
      return absl::OkStatus();
    });
  }

 private:
  bool planes() const { return spec_.format == TensorFormat::kNCHW; }
  // Whole cache lines, so that threads write none together.
  int64_t SumsOfImage() const {
    const int64_t more = !planes() ? spec_.channels : spec_.per_pixel ? spec_.positions : 0;
    return RoundUp(2 * (spec_.channels + more), 16);
  }
  Operand OperandOf(const Tensor& tensor) const {
    const int64_t images = tensor.shape()[0];
    const RowGrid grid = planes() ? RowGrid{images, spec_.channels * spec_.positions}
                                  : RowGrid{images * spec_.positions, spec_.channels};
    return OperandIn(grid, tensor, spec_.format);
  }

  const GroupNormSpec spec_;
};

absl::Status CheckSpec(const GroupNormSpec& spec) {
  for (const auto& [name, size] :
       {std::pair("batch", spec.batch), std::pair("positions", spec.positions),
        std::pair("channels", spec.channels), std::pair("groups", spec.groups)}) {
    if (size < 1)
      return InvalidArgument("group norm: ", name, " is ", size, ", expected 1 or more");
  }
  if (spec.channels % spec.groups != 0) {
    return InvalidArgument("group norm: ", spec.channels, " channels do not divide into ",
                           spec.groups, " groups");
  }
  if (!(spec.epsilon > 0) || !std::isfinite(spec.epsilon)) {
    return InvalidArgument("group norm: epsilon is ", spec.epsilon,
                           ", expected a finite number above 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<GroupNorm>> CreateGroupNorm(DeviceContext& context,
                                                           const GroupNormSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("group norm", context.device(), spec.dtype));
  DTNN_RETURN_IF_ERROR(CheckSpec(spec));
  if (context.device().is_cpu()) return std::make_unique<GroupNormCpu>(spec);
  return CreateGroupNormGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
