#include "kernels/gemm/serial_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/gemm/reference.h"
#include "tensor/philox.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"

namespace dtnn {
namespace {

// Row-major operands with `gap` NaNs after each row: reading or writing them shows.
template <typename T>
struct Matrix {
  int64_t rows, columns, ld;
  std::vector<T> values;

  Matrix(int64_t r, int64_t c, int64_t gap, uint64_t seed, bool integers)
      : rows(r), columns(c), ld(c + gap) {
    values.assign(size_t(r * ld), std::numeric_limits<T>::quiet_NaN());
    const Philox random(seed, StreamId(RandomPurpose::kTest));
    for (int64_t i = 0; i < r * c; ++i) {
      values[size_t(i / c * ld + i % c)] =
          integers ? T(random.Below(uint64_t(i), 9)) - 4 : T(2 * random.Uniform(uint64_t(i)) - 1);
    }
  }
};

// Bound for k products of numbers in [-1, 1] summed in one chain. The partial sums walk to
// sqrt(k)/3, each rounds by up to half an epsilon of its size: the error's deviation is 0.07 k
// epsilon. Walks that go far double it, and the worst of 25000 elements is at five deviations.
template <typename T>
double ChainTolerance(int64_t k) {
  return double(std::numeric_limits<T>::epsilon()) * (4 + double(k));
}

struct Case {
  bool transpose_a, transpose_b;
  int64_t m, n, k, gap;
  bool accumulate;
};

// Exactly the size asked for: a sanitizer shows what writes past it.
template <typename T>
std::vector<std::byte> Scratch(int64_t m, int64_t n, int64_t k) {
  return std::vector<std::byte>(SerialGemmScratchBytes<T>(m, n, k));
}

template <typename T>
void Check(const Case& t, bool integers) {
  SCOPED_TRACE(::testing::Message()
               << t.m << "x" << t.n << "x" << t.k << " " << (t.transpose_a ? "t" : "n")
               << (t.transpose_b ? "t" : "n") << " gap " << t.gap
               << (t.accumulate ? " accumulate" : "") << (integers ? " integers" : ""));
  const Matrix<T> a(t.transpose_a ? t.k : t.m, t.transpose_a ? t.m : t.k, t.gap, 1, integers);
  const Matrix<T> b(t.transpose_b ? t.n : t.k, t.transpose_b ? t.k : t.n, t.gap, 2, integers);
  Matrix<T> c(t.m, t.n, t.gap, 3, integers), expected = c;
  if (!t.accumulate) c.values.assign(c.values.size(), std::numeric_limits<T>::quiet_NaN());
  std::vector<std::byte> scratch = Scratch<T>(t.m, t.n, t.k);
  SerialGemm<T>(t.transpose_a, t.transpose_b, t.m, t.n, t.k, a.values.data(), a.ld, b.values.data(),
                b.ld, t.accumulate, c.values.data(), c.ld, scratch);
  reference::Gemm<T>(t.transpose_a, t.transpose_b, t.m, t.n, t.k, a.values.data(), a.ld,
                     b.values.data(), b.ld, t.accumulate, expected.values.data(), expected.ld);
  const double tolerance = integers ? 0 : ChainTolerance<T>(t.k);
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < c.ld; ++j) {
      const T actual = c.values[size_t(i * c.ld + j)], want = expected.values[size_t(i * c.ld + j)];
      if (j >= t.n) {
        ASSERT_TRUE(std::isnan(actual)) << "wrote behind row " << i;
      } else {
        ASSERT_LE(std::abs(double(actual) - double(want)), tolerance)
            << "(" << i << ", " << j << ")";
      }
    }
  }
}

template <typename T>
void CheckSizes(const std::vector<int64_t>& ms, const std::vector<int64_t>& ns,
                const std::vector<int64_t>& ks) {
  for (const int64_t m : ms) {
    for (const int64_t n : ns) {
      for (const int64_t k : ks) {
        for (int bits = 0; bits < 8; ++bits) {
          const Case t{bool(bits & 1), bool(bits & 2), m, n, k, 3 * (bits & 1), bool(bits & 4)};
          Check<T>(t, /*integers=*/true);
          Check<T>(t, /*integers=*/false);
        }
      }
    }
  }
}

template <typename T>
class SerialGemmTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SerialGemmTest, FloatTypes);

TYPED_TEST(SerialGemmTest, MatchesReferenceAroundEveryTileEdge) {
  CheckSizes<TypeParam>({1, 2, 5, 6, 7, 13, 14, 15, 31}, {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 49},
                        {1, 2, 7, 36});
}

TYPED_TEST(SerialGemmTest, MatchesReferenceAcrossCacheBlocks) {
  CheckSizes<TypeParam>({1, 193}, {10, 70}, {256, 531});   // sums
  CheckSizes<TypeParam>({1}, {127, 128, 300}, {37, 531});  // a single, wide row
  CheckSizes<TypeParam>({300}, {40}, {17});                // rows
  CheckSizes<TypeParam>({3, 40}, {2070}, {5});             // columns
}

// Rows of A that lie a multiple of 1024 bytes apart are copied.
TYPED_TEST(SerialGemmTest, MatchesReferenceWhereShortRowsOfAAreCopied) {
  constexpr int64_t kLda = 2048 / sizeof(TypeParam);
  for (const int64_t k : {32, 33, 128}) {
    for (const int64_t m : {4, 32, 300}) {
      Check<TypeParam>({false, true, m, 70, k, kLda - k, false}, /*integers=*/true);
    }
  }
}

TYPED_TEST(SerialGemmTest, EmptySumIsZeroAndNothingIsWrittenForEmptyC) {
  CheckSizes<TypeParam>({0, 3}, {0, 5}, {0, 4});
}

TYPED_TEST(SerialGemmTest, SameBitsFromThreadsAtOnce) {
  const int64_t m = 190, n = 70, k = 301;
  const Matrix<TypeParam> a(m, k, 0, 1, false), b(k, n, 0, 2, false);
  std::vector<TypeParam> alone(size_t(m * n));
  const auto run = [&](TypeParam* c) {
    std::vector<std::byte> scratch = Scratch<TypeParam>(m, n, k);
    SerialGemm<TypeParam>(false, false, m, n, k, a.values.data(), a.ld, b.values.data(), b.ld,
                          false, c, n, scratch);
  };
  run(alone.data());

  std::vector<std::vector<TypeParam>> together(8, std::vector<TypeParam>(size_t(m * n)));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { run(together[size_t(i)].data()); });
  for (std::thread& thread : threads) thread.join();
  SetNumThreads(4);
  ParallelFor(4, 8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(together[size_t(i)].data());
  });
  for (const auto& c : together) EXPECT_EQ(c, alone);
}

TYPED_TEST(SerialGemmTest, SameBitsHoweverCIsDivided) {
  const int64_t m = 61, n = 107, k = 290;
  const Matrix<TypeParam> a(m, k, 0, 1, false), b(k, n, 0, 2, false);
  std::vector<TypeParam> whole(size_t(m * n)), parts(size_t(m * n));
  std::vector<std::byte> scratch = Scratch<TypeParam>(m, n, k);
  const auto run = [&](int64_t row, int64_t rows, int64_t column, int64_t columns, TypeParam* c) {
    SerialGemm<TypeParam>(false, false, rows, columns, k, a.values.data() + row * k, k,
                          b.values.data() + column, n, false, c + row * n + column, n, scratch);
  };
  run(0, m, 0, n, whole.data());
  for (const int64_t row : {int64_t{0}, int64_t{9}}) {
    for (const int64_t column : {int64_t{0}, int64_t{50}}) {
      run(row, row == 0 ? 9 : m - 9, column, column == 0 ? 50 : n - 50, parts.data());
    }
  }
  EXPECT_EQ(whole, parts);
}

TYPED_TEST(SerialGemmTest, EpilogueIsAppliedOnceToTheWholeSum) {
  for (const int64_t k : {0, 5, 600}) {  // none, one and several blocks of the sum
    const int64_t m = 9, n = 37;
    const Matrix<TypeParam> a(m, k, 0, 1, true), b(k, n, 0, 2, true), addend(m, n, 2, 3, true);
    const Matrix<TypeParam> scale(1, n, 0, 4, true), bias(1, n, 0, 5, true);
    std::vector<TypeParam> c(size_t(m * n));
    const SerialEpilogue<TypeParam> epilogue = {scale.values.data(), bias.values.data(),
                                                addend.values.data(), addend.ld, true};
    std::vector<std::byte> scratch = Scratch<TypeParam>(m, n, k);
    SerialGemm<TypeParam>(false, false, m, n, k, a.values.data(), a.ld, b.values.data(), b.ld,
                          false, c.data(), n, scratch, epilogue);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const double sum = reference::GemmElement(false, false, i, j, k, a.values.data(), a.ld,
                                                  b.values.data(), b.ld);
        const double expected = double(scale.values[size_t(j)]) * sum + bias.values[size_t(j)] +
                                addend.values[size_t(i * addend.ld + j)];
        ASSERT_EQ(c[size_t(i * n + j)], std::max(0.0, expected)) << i << ", " << j << " k " << k;
      }
    }
  }
}

TYPED_TEST(SerialGemmTest, AllocatesNothing) {
  const int64_t size = 300;
  const Matrix<TypeParam> a(size, size, 0, 1, true), b = a;
  std::vector<TypeParam> c(size_t(size * size));
  std::vector<std::byte> scratch = Scratch<TypeParam>(size, size, size);
  const testing::AllocationCounter counter;
  SerialGemm<TypeParam>(true, true, size, size, size, a.values.data(), size, b.values.data(), size,
                        false, c.data(), size, scratch);
  EXPECT_EQ(counter.count(), 0);
}

// However large the product: the blocks that are packed have a size of their own.
TYPED_TEST(SerialGemmTest, ScratchIsSomeMegabytesAtMost) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_LE(SerialGemmScratchBytes<TypeParam>(huge, huge, huge), size_t{8} << 20);
  EXPECT_LE(SerialGemmScratchBytes<TypeParam>(1, 1, 1), size_t{4} << 10);
}

}  // namespace
}  // namespace dtnn
