#include "kernels/conv/geometry/transpose.h"

#include <type_traits>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/geometry/transpose.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn::conv {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A block of at most 16 x 16: the lines of both sides stay in the L1 cache.
template <typename T>
void Block(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, T* to,
           int64_t to_pitch) {
  [[maybe_unused]] int64_t whole_rows = 0, whole_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hn::FixedTag<T, 4> d;
    whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    const auto square = [&](int64_t i, int64_t j) HWY_ATTR {
      auto v0 = hn::LoadU(d, from + i * from_pitch + j);
      auto v1 = hn::LoadU(d, from + (i + 1) * from_pitch + j);
      auto v2 = hn::LoadU(d, from + (i + 2) * from_pitch + j);
      auto v3 = hn::LoadU(d, from + (i + 3) * from_pitch + j);
      dtnn::HWY_NAMESPACE::Transpose4(d, v0, v1, v2, v3);
      hn::StoreU(v0, d, to + j * to_pitch + i);
      hn::StoreU(v1, d, to + (j + 1) * to_pitch + i);
      hn::StoreU(v2, d, to + (j + 2) * to_pitch + i);
      hn::StoreU(v3, d, to + (j + 3) * to_pitch + i);
    };
    // Lines of the side with the larger pitch may share few sets of the cache: use them up at once.
    if (from_pitch > to_pitch) {
      for (int64_t i = 0; i < whole_rows; i += 4) {
        for (int64_t j = 0; j < whole_columns; j += 4) square(i, j);
      }
    } else {
      for (int64_t j = 0; j < whole_columns; j += 4) {
        for (int64_t i = 0; i < whole_rows; i += 4) square(i, j);
      }
    }
  }
#endif
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i) {
      to[j * to_pitch + i] = from[i * from_pitch + j];
    }
  }
}

template <typename T>
void Blocks(const T* from, int64_t rows, int64_t columns, int64_t from_pitch, T* to,
            int64_t to_pitch) {
  constexpr int64_t kBlock = 16;
  for (int64_t i = 0; i < rows; i += kBlock) {
    for (int64_t j = 0; j < columns; j += kBlock) {
      Block(from + i * from_pitch + j, HWY_MIN(rows - i, kBlock), HWY_MIN(columns - j, kBlock),
            from_pitch, to + j * to_pitch + i, to_pitch);
    }
  }
}

void BlocksFloat(const float* from, int64_t rows, int64_t columns, int64_t from_pitch, float* to,
                 int64_t to_pitch) {
  Blocks(from, rows, columns, from_pitch, to, to_pitch);
}
void BlocksDouble(const double* from, int64_t rows, int64_t columns, int64_t from_pitch, double* to,
                  int64_t to_pitch) {
  Blocks(from, rows, columns, from_pitch, to, to_pitch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace dtnn::conv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn::conv {
namespace {
HWY_EXPORT(BlocksFloat);
HWY_EXPORT(BlocksDouble);
}  // namespace

void Transpose(const float* from, int64_t rows, int64_t columns, int64_t from_pitch, float* to,
               int64_t to_pitch) {
  HWY_DYNAMIC_DISPATCH(BlocksFloat)(from, rows, columns, from_pitch, to, to_pitch);
}
void Transpose(const double* from, int64_t rows, int64_t columns, int64_t from_pitch, double* to,
               int64_t to_pitch) {
  HWY_DYNAMIC_DISPATCH(BlocksDouble)(from, rows, columns, from_pitch, to, to_pitch);
}

}  // namespace dtnn::conv
#endif  // HWY_ONCE
