// The epilogue of a block of C, vector by vector. Included once per instruction set, see
// serial_gemm_cpu.cc.

#if defined(DTNN_KERNELS_GEMM_GEMM_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DTNN_KERNELS_GEMM_GEMM_EPILOGUE_INL_H_
#undef DTNN_KERNELS_GEMM_GEMM_EPILOGUE_INL_H_
#else
#define DTNN_KERNELS_GEMM_GEMM_EPILOGUE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/elementwise/relu-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "kernels/gemm/serial_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Columns [column, column + one vector) of all rows; only the first `count` of them when kTail.
template <bool kTail, class D, typename T>
HWY_INLINE void ApplyEpilogueToColumns(D d, const SerialEpilogue<T>& epilogue, int64_t rows,
                                       size_t count, T* c, int64_t c_stride) {
  const hn::Mask<D> first = hn::FirstN(d, count);
  const auto load = [&](const T* from) HWY_ATTR {
    return kTail ? LoadFirst(d, first, count, from) : hn::LoadU(d, from);
  };
  const hn::Vec<D> scale = epilogue.scale == nullptr ? hn::Set(d, T(1)) : load(epilogue.scale);
  const hn::Vec<D> bias = epilogue.bias == nullptr ? hn::Zero(d) : load(epilogue.bias);
  for (int64_t row = 0; row < rows; ++row, c += c_stride) {
    hn::Vec<D> value = hn::MulAdd(scale, load(c), bias);
    if (epilogue.addend != nullptr) {
      value = hn::Add(value, load(epilogue.addend + row * epilogue.addend_ld));
    }
    if (epilogue.relu) value = Rectify(d, value);
    if (kTail) {
      StoreFirst(d, value, first, count, c);
    } else {
      hn::StoreU(value, d, c);
    }
  }
}

template <typename T>
void ApplyEpilogue(const SerialEpilogue<T>& epilogue, int64_t rows, int64_t columns, T* c,
                   int64_t c_stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t column = 0;
  for (; column + lanes <= columns; column += lanes) {
    ApplyEpilogueToColumns<false>(d, epilogue.At(0, column), rows, size_t(lanes), c + column,
                                  c_stride);
  }
  if (column < columns) {
    ApplyEpilogueToColumns<true>(d, epilogue.At(0, column), rows, size_t(columns - column),
                                 c + column, c_stride);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#endif
