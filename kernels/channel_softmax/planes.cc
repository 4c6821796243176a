#include "kernels/channel_softmax/planes.h"

#include <algorithm>
#include <limits>

#include "kernels/elementwise/operands.h"
#include "tensor/tensor.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channel_softmax/planes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/math-inl.h"
#include "kernels/elementwise/transform-inl.h"

#ifndef DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_CC_
#define DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_CC_
namespace dtnn {

// Planes are often a power of two apart, so that a cache keeps few of their lines: values that are
// read again are copied to where they are neighbours. Elements of a copy, and pixels of a block,
// which are multiples of all vectors.
inline constexpr int64_t kMostCopied = 1 << 14, kLeastBlock = 16, kMostBlock = 512;
// Fewer would leave threads without work.
inline constexpr int64_t kBlocks = 64;

}  // namespace dtnn
#endif  // DTNN_KERNELS_CHANNEL_SOFTMAX_PLANES_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

// The pixels of a block, in the first channel of its group.
struct Block {
  const PlanesPass& pass;
  int64_t image, channel, pixel, count;

  Block(const PlanesPass& of, int64_t index) : pass(of) {
    const int64_t block = of.block(), of_group = CeilDiv(of.pixels, block);
    pixel = index % of_group * block, index /= of_group;
    channel = index % of.groups * of.channels;
    image = index / of.groups;
    count = std::min(block, of.pixels - pixel);
  }
  template <typename E>
  E* At(const PlaneOperand& operand, int64_t c) const {
    return static_cast<E*>(operand.data) + image * operand.image + (channel + c) * operand.channel +
           pixel;
  }
};

// Elements are of type T, results of type R.
template <typename T, typename R>
void ForwardTyped(const PlanesPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  HWY_ALIGN W copies[kMostCopied], largest[kMostBlock], sums[kMostBlock];
  const int64_t channels = pass.channels, step = pass.block();
  const bool copied = channels * step <= kMostCopied;
  for (int64_t index = begin; index < end; ++index) {
    const Block block(pass, index);
    for (int64_t c = 0; c < channels; ++c) {
      const T* const x = block.At<const T>(pass.x, c);
      W* const copy = copies + (copied ? c * step : 0);
      ForEachVector<T>(block.count, [&](const auto& access, int64_t i) HWY_ATTR {
        const auto value = access.Load(x + i);
        if (copied) hn::Store(value, d, copy + i);
        hn::Store(c == 0 ? value : hn::Max(value, hn::Load(d, largest + i)), d, largest + i);
      });
    }
    const auto exponential = [&](const auto& access, int64_t c, int64_t i) HWY_ATTR {
      const auto value = copied ? hn::Load(d, copies + c * step + i)
                                : access.Load(block.At<const T>(pass.x, c) + i);
      return ExpOfNonPositive(d, hn::Sub(value, hn::Load(d, largest + i)));
    };
    for (int64_t c = 0; c < channels; ++c) {
      ForEachVector<T>(block.count, [&](const auto& access, int64_t i) HWY_ATTR {
        const auto e = exponential(access, c, i);
        if (copied) hn::Store(e, d, copies + c * step + i);
        hn::Store(c == 0 ? e : hn::Add(hn::Load(d, sums + i), e), d, sums + i);
      });
    }
    ForEachVector<T>(block.count, [&](const auto&, int64_t i) HWY_ATTR {
      hn::Store(hn::Div(hn::Set(d, W(1)), hn::Load(d, sums + i)), d, sums + i);
    });
    for (int64_t c = 0; c < channels; ++c) {
      R* const y = block.At<R>(pass.y, c);
      ForEachVector<T>(block.count, [&](const auto& access, int64_t i) HWY_ATTR {
        const auto e = copied ? hn::Load(d, copies + c * step + i) : exponential(access, c, i);
        access.Store(hn::Mul(e, hn::Load(d, sums + i)), y + i);
      });
    }
  }
}

template <typename T, typename R>
void BackwardTyped(const PlanesPass& pass, int64_t begin, int64_t end) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  HWY_ALIGN W of_y[kMostCopied], of_dy[kMostCopied], dots[kMostBlock];
  const int64_t channels = pass.channels, step = pass.block();
  const bool copied = channels * step <= kMostCopied;
  for (int64_t index = begin; index < end; ++index) {
    const Block block(pass, index);
    for (int64_t c = 0; c < channels; ++c) {
      const R *const y = block.At<const R>(pass.y, c), *const dy = block.At<const R>(pass.dy, c);
      const int64_t to = copied ? c * step : 0;
      ForEachVector<T>(block.count, [&](const auto& access, int64_t i) HWY_ATTR {
        const auto p = access.Load(y + i), gradient = access.Load(dy + i);
        if (copied) {
          hn::Store(p, d, of_y + to + i);
          hn::Store(gradient, d, of_dy + to + i);
        }
        const auto sum = c == 0 ? hn::Zero(d) : hn::Load(d, dots + i);
        hn::Store(hn::MulAdd(p, gradient, sum), d, dots + i);
      });
    }
    for (int64_t c = 0; c < channels; ++c) {
      const R *const y = block.At<const R>(pass.y, c), *const dy = block.At<const R>(pass.dy, c);
      T* const dx = block.At<T>(pass.dx, c);
      const int64_t from = copied ? c * step : 0;
      ForEachVector<T>(block.count, [&](const auto& access, int64_t i) HWY_ATTR {
        const auto p = copied ? hn::Load(d, of_y + from + i) : access.Load(y + i);
        const auto gradient = copied ? hn::Load(d, of_dy + from + i) : access.Load(dy + i);
        auto result = hn::Mul(p, hn::Sub(gradient, hn::Load(d, dots + i)));
        if (pass.accumulate) result = hn::Add(access.Load(dx + i), result);
        access.Store(result, dx + i);
      });
    }
  }
}

void PlanesForward(const PlanesPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype, [&]<typename T>(T) HWY_ATTR {
    pass.narrow_result ? ForwardTyped<T, T>(pass, begin, end)
                       : ForwardTyped<T, Wide<T>>(pass, begin, end);
  });
}

void PlanesBackward(const PlanesPass& pass, int64_t begin, int64_t end) {
  DispatchCpuFloating(pass.dtype, [&]<typename T>(T) HWY_ATTR {
    pass.narrow_result ? BackwardTyped<T, T>(pass, begin, end)
                       : BackwardTyped<T, Wide<T>>(pass, begin, end);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(PlanesForward);
HWY_EXPORT(PlanesBackward);

}  // namespace

int64_t PlanesPass::block() const {
  const auto multiple = [](int64_t count) { return count / kLeastBlock * kLeastBlock; };
  const int64_t fits = multiple(kMostCopied / channels),
                each = multiple(images * groups * pixels / kBlocks);
  return std::clamp(std::min(fits, each), kLeastBlock, kMostBlock);
}

void RunPlanesForward(const PlanesPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(PlanesForward)(pass, begin, end);
}

void RunPlanesBackward(const PlanesPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(PlanesBackward)(pass, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
