// Operands of the matrix product copied into the order in which the register tile reads them.
//
// Included once per instruction set, see serial_gemm_cpu.cc.

#if defined(DTNN_KERNELS_GEMM_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_GEMM_GEMM_PACK_INL_H_
#undef DTNN_KERNELS_GEMM_GEMM_PACK_INL_H_
#else
#define DTNN_KERNELS_GEMM_GEMM_PACK_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// to[p * stride + i] = from[p * ld + i] for i < width, 0 for width <= i < padded.
template <typename T>
HWY_INLINE void PackLines(int64_t k, const T* from, int64_t ld, int64_t width, int64_t padded,
                          T* HWY_RESTRICT to, int64_t stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t p = 0; p < k; ++p, from += ld, to += stride) {
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    for (; i < width; ++i) to[i] = from[i];
    for (; i < padded; ++i) to[i] = 0;
  }
}

#if HWY_TARGET != HWY_SCALAR
// to[p * stride + i] = from[i * ld + p] for a block of 16 bytes squared.
HWY_INLINE void TransposeBlock(const float* from, int64_t ld, float* HWY_RESTRICT to,
                               int64_t stride) {
  const hn::FixedTag<float, 4> d;
  auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + ld);
  auto r2 = hn::LoadU(d, from + 2 * ld), r3 = hn::LoadU(d, from + 3 * ld);
  Transpose4(d, r0, r1, r2, r3);
  hn::StoreU(r0, d, to);
  hn::StoreU(r1, d, to + stride);
  hn::StoreU(r2, d, to + 2 * stride);
  hn::StoreU(r3, d, to + 3 * stride);
}

HWY_INLINE void TransposeBlock(const double* from, int64_t ld, double* HWY_RESTRICT to,
                               int64_t stride) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + ld);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + stride);
}
#endif

// to[p * stride + i] = from[i * ld + p] for i < width, 0 for width <= i < padded.
template <typename T>
HWY_INLINE void PackTransposed(int64_t k, const T* from, int64_t ld, int64_t width, int64_t padded,
                               T* HWY_RESTRICT to, int64_t stride) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kBlock = 16 / sizeof(T);
  const int64_t whole = k / kBlock * kBlock;
  for (; i + kBlock <= width; i += kBlock) {
    for (int64_t p = 0; p < whole; p += kBlock) {
      TransposeBlock(from + i * ld + p, ld, to + p * stride + i, stride);
    }
    for (int64_t p = whole; p < k; ++p) {
      for (int64_t j = i; j < i + kBlock; ++j) to[p * stride + j] = from[j * ld + p];
    }
  }
#endif
  for (; i < width; ++i) {
    for (int64_t p = 0; p < k; ++p) to[p * stride + i] = from[i * ld + p];
  }
  for (; i < padded; ++i) {
    for (int64_t p = 0; p < k; ++p) to[p * stride + i] = 0;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif
