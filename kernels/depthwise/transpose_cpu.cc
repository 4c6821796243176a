// Between planes (NCHW) and pixels (NHWC), in 4 x 4 blocks in registers.

#include <algorithm>

#include "kernels/depthwise/depthwise_cpu.h"

// Everything up to HWY_ONCE is compiled once per instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise/transpose_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::depthwise {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kQuad = 0;
#else
constexpr int64_t kQuad = 4;

// to[j * to_pitch + i] = from[i * from_pitch + j] for i, j < 4.
HWY_INLINE void TransposeQuad(const float* from, int64_t from_pitch, bool accumulate, float* to,
                              int64_t to_pitch) {
  const hn::CappedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> wide;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_pitch);
  const auto c = hn::LoadU(d, from + 2 * from_pitch), e = hn::LoadU(d, from + 3 * from_pitch);
  const auto ab0 = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
  const auto ab1 = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
  const auto ce0 = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
  const auto ce1 = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
  const auto put = [&](auto column, float* at) HWY_ATTR {
    const auto v = hn::BitCast(d, column);
    hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, at), v) : v, d, at);
  };
  put(hn::InterleaveLower(wide, ab0, ce0), to);
  put(hn::InterleaveUpper(wide, ab0, ce0), to + to_pitch);
  put(hn::InterleaveLower(wide, ab1, ce1), to + 2 * to_pitch);
  put(hn::InterleaveUpper(wide, ab1, ce1), to + 3 * to_pitch);
}
HWY_INLINE void TransposeQuad(const double* from, int64_t from_pitch, bool accumulate, double* to,
                              int64_t to_pitch) {
  for (int64_t j = 0; j < 4; ++j) {
    for (int64_t i = 0; i < 4; ++i) {
      double& at = to[j * to_pitch + i];
      at = (accumulate ? at : 0) + from[i * from_pitch + j];
    }
  }
}
#endif

// to[j * to_pitch + i] = from[i * from_pitch + j] for i < rows, j < columns.
template <typename T>
HWY_INLINE void Transpose(const T* from, int64_t from_pitch, int64_t rows, int64_t columns,
                          bool accumulate, T* to, int64_t to_pitch) {
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; row + kQuad <= rows; row += kQuad) {
    int64_t column = 0;
    for (; column + kQuad <= columns; column += kQuad) {
      TransposeQuad(from + row * from_pitch + column, from_pitch, accumulate,
                    to + column * to_pitch + row, to_pitch);
    }
    for (; column < columns; ++column) {
      for (int64_t i = row; i < row + kQuad; ++i) {
        T& at = to[column * to_pitch + i];
        at = (accumulate ? at : T(0)) + from[i * from_pitch + column];
      }
    }
  }
#endif
  for (; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      T& at = to[column * to_pitch + row];
      at = (accumulate ? at : T(0)) + from[row * from_pitch + column];
    }
  }
}

// Few planes at a time: planes often lie a power of two apart and would evict each other.
constexpr int64_t kPlanes = 16;
// And few pixels, so that the lines of all of them stay while the planes are gone through.
constexpr int64_t kPixels = 64;

template <typename T>
void ToPixels(const T* planes, int64_t plane, int64_t channels, T* pixels, int64_t pitch) {
  for (int64_t c = 0; c < channels; c += kPlanes) {
    for (int64_t i = 0; i < plane; i += kPixels) {
      Transpose(planes + c * plane + i, plane, std::min(kPlanes, channels - c),
                std::min(kPixels, plane - i), false, pixels + i * pitch + c, pitch);
    }
  }
}

template <typename T>
void ToPlanes(const T* pixels, int64_t pitch, int64_t channels, bool accumulate, T* planes,
              int64_t plane) {
  for (int64_t c = 0; c < channels; c += kPlanes) {
    for (int64_t i = 0; i < plane; i += kPixels) {
      Transpose(pixels + i * pitch + c, pitch, std::min(kPixels, plane - i),
                std::min(kPlanes, channels - c), accumulate, planes + c * plane + i, plane);
    }
  }
}

void ToPixelsF32(const float* planes, int64_t plane, int64_t channels, float* pixels,
                 int64_t pitch) {
  ToPixels(planes, plane, channels, pixels, pitch);
}
void ToPixelsF64(const double* planes, int64_t plane, int64_t channels, double* pixels,
                 int64_t pitch) {
  ToPixels(planes, plane, channels, pixels, pitch);
}
void ToPlanesF32(const float* pixels, int64_t pitch, int64_t channels, bool accumulate,
                 float* planes, int64_t plane) {
  ToPlanes(pixels, pitch, channels, accumulate, planes, plane);
}
void ToPlanesF64(const double* pixels, int64_t pitch, int64_t channels, bool accumulate,
                 double* planes, int64_t plane) {
  ToPlanes(pixels, pitch, channels, accumulate, planes, plane);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::depthwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::depthwise {

HWY_EXPORT(ToPixelsF32);
HWY_EXPORT(ToPixelsF64);
HWY_EXPORT(ToPlanesF32);
HWY_EXPORT(ToPlanesF64);

void PlanesToPixels(const float* planes, int64_t plane, int64_t channels, float* pixels,
                    int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(ToPixelsF32)(planes, plane, channels, pixels, pitch);
}
void PlanesToPixels(const double* planes, int64_t plane, int64_t channels, double* pixels,
                    int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(ToPixelsF64)(planes, plane, channels, pixels, pitch);
}
void PixelsToPlanes(const float* pixels, int64_t pitch, int64_t channels, bool accumulate,
                    float* planes, int64_t plane) {
  HWY_DYNAMIC_DISPATCH(ToPlanesF32)(pixels, pitch, channels, accumulate, planes, plane);
}
void PixelsToPlanes(const double* pixels, int64_t pitch, int64_t channels, bool accumulate,
                    double* planes, int64_t plane) {
  HWY_DYNAMIC_DISPATCH(ToPlanesF64)(pixels, pitch, channels, accumulate, planes, plane);
}

}  // namespace dtnn::depthwise
#endif  // HWY_ONCE
