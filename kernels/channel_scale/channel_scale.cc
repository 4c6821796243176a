#include "kernels/channel_scale/channel_scale.h"

#include <algorithm>

#include "kernels/channel_scale/channel_scale_gpu.h"
#include "kernels/channel_scale/check.h"
#include "kernels/elementwise/operands.h"
#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channel_scale/channel_scale.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_CC_
#define DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_CC_
namespace dtnn {

// Channels that one task of a sum over pixels takes, and the pixels (in a plane: elements) whose
// products are summed before they are added to the rest: a chain over a whole image would round too
// much.
inline constexpr int64_t kStripe = 128;
inline constexpr int64_t kChain = 256;

// Images and factors: rows of channels, a row for each pixel, or planes.
struct ScalePass {
  DType dtype;
  int64_t pixels, channels;  // of one image
  Operand x, factors, y;     // y: dy where sums are made
  bool accumulate;
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_CHANNEL_SCALE_CHANNEL_SCALE_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

struct Product {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
template <typename T>
struct ProductWith {
  T factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};

template <typename T>
void MultiplyRows(const ScalePass& pass, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    T* const y = pass.y.At<T>(row, 0);
    const T *x = pass.x.At<const T>(row, 0),
            *factors = pass.factors.At<const T>(row / pass.pixels, 0);
    pass.accumulate
        ? Transform(Accumulated<Product>(), pass.channels, y, x, factors, static_cast<const T*>(y))
        : Transform(Product(), pass.channels, y, x, factors);
  }
}

template <typename T>
void MultiplyPlanes(const ScalePass& pass, int64_t begin, int64_t end) {
  using Op = ProductWith<Wide<T>>;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / pass.channels, channel = i % pass.channels;
    T* const y = pass.y.At<T>(image, channel * pass.pixels);
    const T* x = pass.x.At<const T>(image, channel * pass.pixels);
    const Op op = {Wide<T>(*pass.factors.At<const T>(image, channel))};
    pass.accumulate ? Transform(Accumulated<Op>{op}, pass.pixels, y, x, static_cast<const T*>(y))
                    : Transform(op, pass.pixels, y, x);
  }
}

template <typename T>
void Keep(const ScalePass& pass, T* result, Wide<T> sum) {
  *result = T(pass.accumulate ? Wide<T>(*result) + sum : sum);
}

// Stripes of channels, numbered image by image.
template <typename T>
void ReduceRows(const ScalePass& pass, int64_t begin, int64_t end) {
  HWY_ALIGN Wide<T> sums[kStripe], chain[kStripe];
  const int64_t stripes = CeilDiv(pass.channels, kStripe);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / stripes, channel = i % stripes * kStripe;
    const int64_t count = std::min(kStripe, pass.channels - channel);
    std::fill_n(sums, count, Wide<T>(0));
    const int64_t last = (image + 1) * pass.pixels;
    for (int64_t row = image * pass.pixels; row < last;) {
      std::fill_n(chain, count, Wide<T>(0));
      for (const int64_t stop = std::min(last, row + kChain); row < stop; ++row) {
        Transform(Accumulated<Product>(), count, chain, pass.x.At<const T>(row, channel),
                  pass.y.At<const T>(row, channel), static_cast<const Wide<T>*>(chain));
      }
      for (int64_t c = 0; c < count; ++c) sums[c] += chain[c];
    }
    for (int64_t c = 0; c < count; ++c) {
      Keep(pass, pass.factors.At<T>(image, channel + c), sums[c]);
    }
  }
}

template <typename T>
Wide<T> SumOfProducts(const T* a, const T* b, int64_t count) {
  const hn::ScalableTag<Wide<T>> d;
  auto sum = hn::Zero(d);
  ForEachVector<T>(count, [&](const auto& at, int64_t i)
                              HWY_ATTR { sum = hn::MulAdd(at.Load(a + i), at.Load(b + i), sum); });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
void ReducePlanes(const ScalePass& pass, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / pass.channels, channel = i % pass.channels;
    const T *x = pass.x.At<const T>(image, channel * pass.pixels),
            *dy = pass.y.At<const T>(image, channel * pass.pixels);
    Wide<T> sum = 0;
    for (int64_t first = 0; first < pass.pixels; first += kChain) {
      sum += SumOfProducts(x + first, dy + first, std::min(kChain, pass.pixels - first));
    }
    Keep(pass, pass.factors.At<T>(image, channel), sum);
  }
}

void MultiplyRowsOf(const ScalePass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { MultiplyRows<decltype(zero)>(pass, begin, end); });
}
void MultiplyPlanesOf(const ScalePass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(
      pass.dtype, [&](auto zero) HWY_ATTR { MultiplyPlanes<decltype(zero)>(pass, begin, end); });
}
void ReduceRowsOf(const ScalePass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { ReduceRows<decltype(zero)>(pass, begin, end); });
}
void ReducePlanesOf(const ScalePass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype,
                      [&](auto zero) HWY_ATTR { ReducePlanes<decltype(zero)>(pass, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(MultiplyRowsOf);
HWY_EXPORT(MultiplyPlanesOf);
HWY_EXPORT(ReduceRowsOf);
HWY_EXPORT(ReducePlanesOf);

class ChannelScaleCpu : public ChannelScale {
 public:
  explicit ChannelScaleCpu(const ChannelScaleSpec& spec) : spec_(spec) {}

  absl::Status Multiply(const Tensor& x, const Tensor& s, const Tensor& y,
                        bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelScale(spec_, Device::Cpu(), x, y, s));
    if (x.num_elements() == 0) return absl::OkStatus();
    const ScalePass pass = PassOver(x, s, y, accumulate);
    if (planes()) {
      ParallelFor(0, x.shape()[0] * pass.channels, GrainOf(pass.pixels),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(MultiplyPlanesOf)(pass, begin, end);
                  });
    } else {
      ParallelFor(0, x.shape()[0] * pass.pixels, GrainOf(pass.channels),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(MultiplyRowsOf)(pass, begin, end);
                  });
    }
    return absl::OkStatus();
  }

  absl::Status Reduce(const Tensor& x, const Tensor& dy, const Tensor& ds,
                      bool accumulate) override {
    DTNN_RETURN_IF_ERROR(CheckChannelScale(spec_, Device::Cpu(), x, dy, ds));
    if (x.num_elements() == 0) return absl::OkStatus();
    const ScalePass pass = PassOver(x, ds, dy, accumulate);
    if (planes()) {
      ParallelFor(0, x.shape()[0] * pass.channels, GrainOf(pass.pixels),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(ReducePlanesOf)(pass, begin, end);
                  });
    } else {
      ParallelFor(0, x.shape()[0] * CeilDiv(pass.channels, kStripe),
                  GrainOf(pass.pixels * std::min(kStripe, pass.channels)),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(ReduceRowsOf)(pass, begin, end);
                  });
    }
    return absl::OkStatus();
  }

 private:
  bool planes() const { return spec_.format == TensorFormat::kNCHW; }
  static int64_t GrainOf(int64_t elements) { return std::max<int64_t>(1, kCopyGrain / elements); }

  ScalePass PassOver(const Tensor& x, const Tensor& factors, const Tensor& y,
                     bool accumulate) const {
    const int64_t images = x.shape()[0], channels = x.shape()[planes() ? 1 : 3];
    const int64_t pixels = x.num_elements() / (images * channels);
    const RowGrid grid =
        planes() ? RowGrid{images, channels * pixels} : RowGrid{images * pixels, channels};
    return {.dtype = spec_.dtype,
            .pixels = pixels,
            .channels = channels,
            .x = OperandIn(grid, x, spec_.format),
            .factors = OperandIn({images, channels}, factors, spec_.format),
            .y = OperandIn(grid, y, spec_.format),
            .accumulate = accumulate};
  }

  ChannelScaleSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChannelScale>> CreateChannelScale(DeviceContext& context,
                                                                 const ChannelScaleSpec& spec) {
  DTNN_RETURN_IF_ERROR(CheckFloating("channel scale", context.device(), spec.dtype));
  if (context.device().is_cpu()) return std::make_unique<ChannelScaleCpu>(spec);
  return CreateChannelScaleGpu(context, spec);
}

}  // namespace dtnn
#endif  // HWY_ONCE
