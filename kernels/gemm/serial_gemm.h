// Matrix product on raw pointers by the calling thread alone: the inner step of kernels that divide
// their work over threads themselves (convolutions, Gemm).
//
//   C = op(A) * op(B), or C += op(A) * op(B) with `accumulate`; row-major, op(A) m x k, op(B) k x
//   n, C m x n. lda, ldb, ldc: elements from one stored row to the next.
//
// A register tile written once for every instruction set, and around it the loops over cache blocks
// of Goto and van de Geijn ("Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
// 2008), with one change: an operand is packed only where that pays, so that thin products (first
// layers, few filters) are read in place.
//
// Any m, n, k >= 0 (k = 0: the sum is empty). C must not overlap A or B; without `accumulate` it is
// not read. Safe to call from several threads at once; starts none. Packed operands live in
// `scratch`, of SerialGemmScratchBytes, one for each call at a time; nothing is allocated. Each
// element of C is the same chain of operations wherever it lies: C may be divided over threads in
// any way without changing a bit.

#ifndef DTNN_KERNELS_GEMM_SERIAL_GEMM_H_
#define DTNN_KERNELS_GEMM_SERIAL_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace dtnn {

// What happens to each element before it is left: relu(scale * sum + bias + addend), each part only
// where given. Applied to every block of C as soon as it is complete, while it is in cache.
template <typename T>
struct SerialEpilogue {
  const T* scale = nullptr;   // n elements
  const T* bias = nullptr;    // n elements
  const T* addend = nullptr;  // m x n
  int64_t addend_ld = 0;
  bool relu = false;

  // The epilogue of the part of C that begins there.
  SerialEpilogue At(int64_t row, int64_t column) const {
    return {scale == nullptr ? nullptr : scale + column, bias == nullptr ? nullptr : bias + column,
            addend == nullptr ? nullptr : addend + row * addend_ld + column, addend_ld, relu};
  }
};

// What a product of at most these sizes needs: some megabytes, however large they are. T is float
// or double.
template <typename T>
size_t SerialGemmScratchBytes(int64_t m, int64_t n, int64_t k);

template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc,
                std::span<std::byte> scratch);
template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc,
                std::span<std::byte> scratch, const SerialEpilogue<T>& epilogue);

template <>
size_t SerialGemmScratchBytes<float>(int64_t m, int64_t n, int64_t k);
template <>
size_t SerialGemmScratchBytes<double>(int64_t m, int64_t n, int64_t k);

extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t,
                                const float*, int64_t, bool, float*, int64_t, std::span<std::byte>);
extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t,
                                const float*, int64_t, bool, float*, int64_t, std::span<std::byte>,
                                const SerialEpilogue<float>&);
extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                                const double*, int64_t, bool, double*, int64_t,
                                std::span<std::byte>);
extern template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                                const double*, int64_t, bool, double*, int64_t,
                                std::span<std::byte>, const SerialEpilogue<double>&);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_SERIAL_GEMM_H_
