// NHWC: vectors run over the channels of a pixel. NCHW: over the columns of a window.

#include "kernels/pool/adaptive_pool_cpu.h"

#include <cstring>

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/adaptive_pool_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/transform-inl.h"
#include "kernels/pool/run-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void ForwardRows(const AdaptivePoolPass& pass, int64_t begin, int64_t end) {
  const AdaptivePoolSpec& s = pass.spec;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / s.out_height * s.height;  // its first row
    const AdaptiveRange rows = AdaptiveWindow(row % s.out_height, s.height, s.out_height);
    for (int64_t ow = 0; ow < s.out_width; ++ow) {
      const AdaptiveRange columns = AdaptiveWindow(ow, s.width, s.out_width);
      T* y = pass.out.At<T>(row * s.out_width + ow, 0);
      ForEachVector<T>(s.channels, [&](const auto& access, int64_t c) HWY_ATTR {
        auto sum = hn::Zero(access.d);
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          const T* x = pass.in.At<const T>((image + h) * s.width + columns.begin, c);
          for (int64_t w = columns.count(); w > 0; --w, x += pass.in.pitch) {
            sum = hn::Add(sum, access.Load(x));
          }
        }
        access.Store(hn::Div(sum, hn::Set(access.d, T(rows.count() * columns.count()))), y + c);
      });
    }
  }
}

template <typename T>
void BackwardRows(const AdaptivePoolPass& pass, int64_t begin, int64_t end) {
  const AdaptivePoolSpec& s = pass.spec;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / s.height * s.out_height;
    const AdaptiveRange rows = AdaptiveWindow(row % s.height, s.out_height, s.height);
    for (int64_t w = 0; w < s.width; ++w) {
      const AdaptiveRange columns = AdaptiveWindow(w, s.out_width, s.width);
      T* dx = pass.in.At<T>(row * s.width + w, 0);
      ForEachVector<T>(s.channels, [&](const auto& access, int64_t c) HWY_ATTR {
        auto sum = pass.accumulate ? access.Load(dx + c) : hn::Zero(access.d);
        for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
          const int64_t height = AdaptiveWindow(oh, s.height, s.out_height).count();
          for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
            const int64_t width = AdaptiveWindow(ow, s.width, s.out_width).count();
            const T* dy = pass.out.At<const T>((image + oh) * s.out_width + ow, c);
            const auto share = hn::Set(access.d, 1 / T(height * width));
            sum = hn::Add(sum, hn::Mul(access.Load(dy), share));
          }
        }
        access.Store(sum, dx + c);
      });
    }
  }
}

template <typename T>
void ForwardPlane(const AdaptivePoolSpec& s, const T* x, T* y) {
  for (int64_t oh = 0; oh < s.out_height; ++oh) {
    const AdaptiveRange rows = AdaptiveWindow(oh, s.height, s.out_height);
    for (int64_t ow = 0; ow < s.out_width; ++ow) {
      const AdaptiveRange columns = AdaptiveWindow(ow, s.width, s.out_width);
      T sum = 0;
      if (columns.count() == s.width) {  // the rows of the window follow each other
        sum = SumRun(x + rows.begin * s.width, rows.count() * s.width);
      } else {
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          sum += SumRun(x + h * s.width + columns.begin, columns.count());
        }
      }
      *y++ = sum / T(rows.count() * columns.count());
    }
  }
}

template <typename T>
void BackwardPlane(const AdaptivePoolPass& pass, const T* dy, T* dx) {
  const AdaptivePoolSpec& s = pass.spec;
  if (!pass.accumulate) std::memset(dx, 0, size_t(s.height * s.width) * sizeof(T));
  for (int64_t oh = 0; oh < s.out_height; ++oh) {
    const AdaptiveRange rows = AdaptiveWindow(oh, s.height, s.out_height);
    for (int64_t ow = 0; ow < s.out_width; ++ow) {
      const AdaptiveRange columns = AdaptiveWindow(ow, s.width, s.out_width);
      const T share = *dy++ / T(rows.count() * columns.count());
      if (columns.count() == s.width) {
        AddToRun(share, dx + rows.begin * s.width, rows.count() * s.width);
        continue;
      }
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        AddToRun(share, dx + h * s.width + columns.begin, columns.count());
      }
    }
  }
}

template <typename T>
void Run(const AdaptivePoolPass& pass, bool forward, int64_t begin, int64_t end) {
  const AdaptivePoolSpec& s = pass.spec;
  if (s.format == TensorFormat::kNHWC) {
    return forward ? ForwardRows<T>(pass, begin, end) : BackwardRows<T>(pass, begin, end);
  }
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t image = plane / s.channels, channel = plane % s.channels;
    T* in = pass.in.At<T>(image, channel * s.height * s.width);
    T* out = pass.out.At<T>(image, channel * s.out_height * s.out_width);
    if (forward) {
      ForwardPlane<T>(s, in, out);
    } else {
      BackwardPlane<T>(pass, out, in);
    }
  }
}

void RunRange(const AdaptivePoolPass& pass, bool forward, int64_t begin, int64_t end) {
  pass.spec.dtype == DType::kFloat32 ? Run<float>(pass, forward, begin, end)
                                     : Run<double>(pass, forward, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {

HWY_EXPORT(RunRange);

void AdaptivePoolForward(const AdaptivePoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(RunRange)(pass, true, begin, end);
}
void AdaptivePoolBackward(const AdaptivePoolPass& pass, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(RunRange)(pass, false, begin, end);
}

}  // namespace dtnn
#endif  // HWY_ONCE
