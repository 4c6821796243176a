#include <algorithm>
#include <cassert>
#include <cstdint>
#include <type_traits>

#include "kernels/gemm/serial_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/serial_gemm_cpu.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After foreach_target.h: these are compiled once per instruction set.
#include "kernels/gemm/gemm_epilogue-inl.h"
#include "kernels/gemm/gemm_pack-inl.h"
#include "kernels/gemm/gemm_tile-inl.h"
#include "tensor/rounding.h"

#ifndef DTNN_KERNELS_GEMM_SERIAL_GEMM_CPU_CC_
#define DTNN_KERNELS_GEMM_SERIAL_GEMM_CPU_CC_
namespace dtnn {

// The arguments of one call, the same type for every instruction set.
template <typename T>
struct SerialGemmOperands {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  bool accumulate;
  T* c;
  int64_t ldc;
  std::span<std::byte> scratch;
  const SerialEpilogue<T>* epilogue;  // or null
};

}  // namespace dtnn
#endif  // DTNN_KERNELS_GEMM_SERIAL_GEMM_CPU_CC_

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct Blocking {
  static constexpr int64_t kLanes = int64_t(hn::MaxLanes(hn::ScalableTag<T>()));
  static constexpr int64_t kStripColumns = kTileVectors * kLanes;
  static constexpr int64_t kRowColumns = kRowVectors * kLanes;
  static constexpr int64_t kPanelRows = MaxTileRows<1>();
  // A strip of B, kDepth x kStripColumns, stays in the level-1 cache (24 of 32 KiB, 16 with AVX2);
  // kRows x kDepth of A in level 2; kDepth x kColumns of B in level 3.
  static constexpr int64_t kDepth =
      std::min<int64_t>(256, 24 * 1024 / (kStripColumns * int64_t(sizeof(T))));
  static constexpr int64_t kRows = 1024 / sizeof(T) / kPanelRows * kPanelRows;
  static constexpr int64_t kColumns = 2048;
};

// A block of A as the tile walks it.
template <typename T>
struct BlockOfA {
  const T* data;
  int64_t rows, stride;
  bool by_rows;
  int64_t panel_step;  // from one panel of kPanelRows to the next
};

template <int kVectors, bool kByRows, bool kTailB, bool kTailC, class D, typename T>
void RunStrip(D d, const Strip<T>& strip, const BlockOfA<T>& a, T* c) {
  constexpr int64_t kPanelRows = Blocking<T>::kPanelRows;
  for (int64_t i = 0; i < a.rows; i += kPanelRows) {
    TileRows<MaxTileRows<kVectors>(), kVectors, kByRows, kTailB, kTailC>(
        d, strip, std::min(kPanelRows, a.rows - i), a.data + i / kPanelRows * a.panel_step,
        a.stride, c + i * strip.c_stride);
  }
}

// Run-time properties to compile-time ones. A packed B is padded and never has a tail.
template <int kVectors, class D, typename T>
void RunStrip(D d, const Strip<T>& strip, bool packed_b, const BlockOfA<T>& a, T* c) {
  const bool tail = strip.last_lanes < hn::MaxLanes(d);
  const auto run = [&](auto by_rows, auto tail_b, auto tail_c) HWY_ATTR {
    RunStrip<kVectors, by_rows.value, tail_b.value, tail_c.value>(d, strip, a, c);
  };
  const auto with_order = [&](auto tail_b, auto tail_c) HWY_ATTR {
    if (a.by_rows) {
      run(std::true_type(), tail_b, tail_c);
    } else {
      run(std::false_type(), tail_b, tail_c);
    }
  };
  if (!tail) {
    with_order(std::false_type(), std::false_type());
  } else if (packed_b) {
    with_order(std::false_type(), std::true_type());
  } else {
    with_order(std::true_type(), std::true_type());
  }
}

// Columns [0, width) of C, width <= kStripColumns or (one row) kRowColumns, with the fewest and
// narrowest vectors that cover them.
template <typename T>
void RunColumns(Strip<T> strip, int64_t width, bool packed_b, const BlockOfA<T>& a, T* c) {
  const hn::ScalableTag<T> full;
  constexpr int64_t kLanes = Blocking<T>::kLanes;
  if (width == Blocking<T>::kRowColumns) {
    strip.last_lanes = size_t(kLanes);
    return RunStrip<kRowVectors>(full, strip, packed_b, a, c);
  }
  const int64_t vectors = CeilDiv(width, kLanes);
  strip.last_lanes = size_t(width - (vectors - 1) * kLanes);
  if (vectors == 2) return RunStrip<2>(full, strip, packed_b, a, c);
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, kLanes / 2> half;
  if (width <= kLanes / 2) return RunStrip<1>(half, strip, packed_b, a, c);
#endif
  return RunStrip<1>(full, strip, packed_b, a, c);
}

template <typename T>
class BlockedGemm {
 public:
  explicit BlockedGemm(const SerialGemmOperands<T>& x)
      : x_(x), pack_b_(ShouldPackB()), a_copy_(ChooseCopyOfA()) {
    assert(x.scratch.size() >= ScratchBytes(x.m, x.n, x.k));
    const uintptr_t begin = reinterpret_cast<uintptr_t>(x.scratch.data());
    packed_b_ = reinterpret_cast<T*>(RoundUp(begin, kAlignment));
    packed_a_ = packed_b_ + PackedB(x.n, x.k);
  }

  // Whatever is packed, and wherever the scratch begins.
  static size_t ScratchBytes(int64_t m, int64_t n, int64_t k) {
    const int64_t rows = std::min(m, kRows), depth = std::min(k, kDepth);
    const int64_t packed_a = std::max((rows + kPanelRows) * depth, rows * kCopiedRow);
    return size_t(packed_a + PackedB(n, k) + kPad) * sizeof(T) + kAlignment;
  }

  void Run() {
    for (int64_t j = 0; j < x_.n; j += kColumns) {
      const int64_t columns = std::min(kColumns, x_.n - j);
      for (int64_t p = 0; p < x_.k; p += kDepth) {
        const int64_t depth = std::min(kDepth, x_.k - p);
        if (pack_b_) PackB(p, depth, j, columns);
        for (int64_t i = 0; i < x_.m; i += kRows) {
          const BlockOfA<T> a = PrepareA(i, std::min(kRows, x_.m - i), p, depth);
          RunBlock(a, i, p, depth, j, columns);
        }
      }
    }
  }

 private:
  using B = Blocking<T>;
  static constexpr int64_t kDepth = B::kDepth, kRows = B::kRows, kColumns = B::kColumns;
  static constexpr int64_t kStripColumns = B::kStripColumns, kPanelRows = B::kPanelRows;
  static constexpr size_t kAlignment = 64;
  static constexpr int64_t kPad = kAlignment / sizeof(T);
  // Stride of copied rows of A, however few elements they hold: not a multiple of the distance at
  // which addresses share a cache set.
  static constexpr int64_t kCopiedRow = kDepth + kPad;
  enum CopyOfA { kInPlace, kRowsCopied, kPanels };

  static int64_t PackedB(int64_t n, int64_t k) {
    return std::min(k, kDepth) * (std::min(n, kColumns) + kStripColumns);
  }

  // In place, B is read line by line at a distance of ldb: fine when it is small, or not read often
  // enough to pay for the copy.
  bool ShouldPackB() const {
    if (x_.transpose_b) return true;
    const bool small = std::min(x_.k, kDepth) * x_.ldb * int64_t(sizeof(T)) <= 16 * 1024;
    return !small && x_.m > 2 * kPanelRows;
  }

  // By rows, A is best left where it is, unless its rows fall into the same few sets of the level-1
  // cache. Columns (A^T as stored) are read once per strip.
  CopyOfA ChooseCopyOfA() const {
    if (x_.transpose_a) return x_.n > kStripColumns ? kPanels : kInPlace;
    const bool same_sets = x_.lda * int64_t(sizeof(T)) % 1024 == 0;
    return same_sets && x_.k >= 32 && x_.m >= 4 ? kRowsCopied : kInPlace;
  }

  void PackB(int64_t p, int64_t depth, int64_t j, int64_t columns) {
    for (int64_t strip = 0; strip < columns; strip += kStripColumns) {
      const int64_t width = std::min(kStripColumns, columns - strip);
      T* to = packed_b_ + strip * depth;
      if (x_.transpose_b) {
        PackTransposed(depth, x_.b + (j + strip) * x_.ldb + p, x_.ldb, width, kStripColumns, to,
                       kStripColumns);
      } else {
        PackLines(depth, x_.b + p * x_.ldb + j + strip, x_.ldb, width, kStripColumns, to,
                  kStripColumns);
      }
    }
  }

  BlockOfA<T> PrepareA(int64_t i, int64_t rows, int64_t p, int64_t depth) {
    const T* from = x_.transpose_a ? x_.a + p * x_.lda + i : x_.a + i * x_.lda + p;
    switch (a_copy_) {
      case kInPlace:
        return {from, rows, x_.lda, !x_.transpose_a, kPanelRows * (x_.transpose_a ? 1 : x_.lda)};
      case kRowsCopied: {
        PackLines(rows, from, x_.lda, depth, depth, packed_a_, kCopiedRow);
        return {packed_a_, rows, kCopiedRow, true, kPanelRows * kCopiedRow};
      }
      case kPanels:
        break;
    }
    for (int64_t panel = 0; panel < rows; panel += kPanelRows) {
      PackLines(depth, from + panel, x_.lda, std::min(kPanelRows, rows - panel), 0,
                packed_a_ + panel * depth, kPanelRows);
    }
    return {packed_a_, rows, kPanelRows, false, kPanelRows * depth};
  }

  void RunBlock(const BlockOfA<T>& a, int64_t i, int64_t p, int64_t depth, int64_t j,
                int64_t columns) {
    int64_t width;
    for (int64_t strip = 0; strip < columns; strip += width) {
      const bool row = x_.m == 1 && !pack_b_ && columns - strip >= B::kRowColumns;
      width = row ? B::kRowColumns : std::min(kStripColumns, columns - strip);
      const Strip<T> shared = {depth,
                               pack_b_ ? packed_b_ + strip * depth : x_.b + p * x_.ldb + j + strip,
                               pack_b_ ? kStripColumns : x_.ldb,
                               x_.accumulate || p > 0,
                               x_.ldc,
                               0};
      RunColumns(shared, width, pack_b_, a, x_.c + i * x_.ldc + j + strip);
      if (x_.epilogue != nullptr && p + depth == x_.k) {
        ApplyEpilogue(x_.epilogue->At(i, j + strip), a.rows, width, x_.c + i * x_.ldc + j + strip,
                      x_.ldc);
      }
    }
  }

  const SerialGemmOperands<T> x_;
  const bool pack_b_;
  const CopyOfA a_copy_;
  T* packed_a_;
  T* packed_b_;
};

template <typename T>
void Multiply(const SerialGemmOperands<T>& x) {
  if (x.m <= 0 || x.n <= 0) return;
  if (x.k > 0) return BlockedGemm<T>(x).Run();
  for (int64_t i = 0; i < x.m && !x.accumulate; ++i) std::fill_n(x.c + i * x.ldc, x.n, T(0));
  if (x.epilogue != nullptr) ApplyEpilogue(*x.epilogue, x.m, x.n, x.c, x.ldc);
}

void MultiplyF32(const SerialGemmOperands<float>& x) { Multiply(x); }
void MultiplyF64(const SerialGemmOperands<double>& x) { Multiply(x); }
size_t ScratchF32(int64_t m, int64_t n, int64_t k) {
  return BlockedGemm<float>::ScratchBytes(m, n, k);
}
size_t ScratchF64(int64_t m, int64_t n, int64_t k) {
  return BlockedGemm<double>::ScratchBytes(m, n, k);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(MultiplyF32);
HWY_EXPORT(MultiplyF64);
HWY_EXPORT(ScratchF32);
HWY_EXPORT(ScratchF64);

void Multiply(const SerialGemmOperands<float>& x) { HWY_DYNAMIC_DISPATCH(MultiplyF32)(x); }
void Multiply(const SerialGemmOperands<double>& x) { HWY_DYNAMIC_DISPATCH(MultiplyF64)(x); }

}  // namespace

template <>
size_t SerialGemmScratchBytes<float>(int64_t m, int64_t n, int64_t k) {
  return HWY_DYNAMIC_DISPATCH(ScratchF32)(m, n, k);
}
template <>
size_t SerialGemmScratchBytes<double>(int64_t m, int64_t n, int64_t k) {
  return HWY_DYNAMIC_DISPATCH(ScratchF64)(m, n, k);
}

template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc,
                std::span<std::byte> scratch) {
  Multiply(SerialGemmOperands<T>{transpose_a, transpose_b, m, n, k, a, lda, b, ldb, accumulate, c,
                                 ldc, scratch, nullptr});
}

template <typename T>
void SerialGemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
                int64_t lda, const T* b, int64_t ldb, bool accumulate, T* c, int64_t ldc,
                std::span<std::byte> scratch, const SerialEpilogue<T>& epilogue) {
  Multiply(SerialGemmOperands<T>{transpose_a, transpose_b, m, n, k, a, lda, b, ldb, accumulate, c,
                                 ldc, scratch, &epilogue});
}

template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*,
                         int64_t, bool, float*, int64_t, std::span<std::byte>);
template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*,
                         int64_t, bool, float*, int64_t, std::span<std::byte>,
                         const SerialEpilogue<float>&);
template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                         const double*, int64_t, bool, double*, int64_t, std::span<std::byte>);
template void SerialGemm(bool, bool, int64_t, int64_t, int64_t, const double*, int64_t,
                         const double*, int64_t, bool, double*, int64_t, std::span<std::byte>,
                         const SerialEpilogue<double>&);

}  // namespace dtnn
#endif  // HWY_ONCE
