// With emulated products, which any machine and the sanitizers can run: sizes around those of
// tiles, slices and items against the reference. Where there are the instructions, the same bits
// from both.

#include "kernels/gemm/amx/tile_product.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/amx/dots.h"
#include "kernels/amx/tiles.h"
#include "kernels/gemm/reference.h"
#include "kernels/workspace/workspace.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;

constexpr DType kHalf = DType::kBfloat16, kWide = DType::kFloat32;
constexpr TensorFormat kFormat = TensorFormat::kNHWC;  // of a matrix, any

struct Sizes {
  int64_t m, n, k;
};
// Whole tiles and one more or less; several slices of the depth; several items of rows.
constexpr Sizes kSizes[] = {{1, 1, 1},     {16, 16, 32},  {17, 33, 31},  {32, 32, 33},
                            {48, 47, 64},  {64, 10, 100}, {5, 300, 7},   {300, 5, 40},
                            {290, 35, 65}, {3, 20, 1100}, {70, 18, 513}, {33, 257, 512}};

struct Problem {
  Problem(const Sizes& s, bool ta, bool tb, bool integers)
      : sizes(s), transpose_a(ta), transpose_b(tb) {
    const auto make = [&](DType dtype, const Shape& shape, uint64_t seed) {
      return integers ? IntegerTensor(dtype, shape, seed, 3) : RandomTensor(dtype, shape, seed);
    };
    a = Pitched(make(kHalf, ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1), kFormat);
    b = Pitched(make(kHalf, tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2), kFormat);
    scale = make(kWide, {s.n}, 3), bias = make(kWide, {s.n}, 4);
    addend = Pitched(make(kHalf, {s.m, s.n}, 5), kFormat);
  }

  // relu(scale * sum + bias + addend) if `all`; rounded, unless it is wide.
  std::vector<double> Expected(bool all, bool wide) const {
    const std::vector<double> left = Values(a), right = Values(b), added = Values(addend);
    const std::vector<double> factors = Values(scale), terms = Values(bias);
    std::vector<double> c(size_t(sizes.m * sizes.n));
    reference::Gemm(transpose_a, transpose_b, sizes.m, sizes.n, sizes.k, left.data(),
                    transpose_a ? sizes.m : sizes.k, right.data(), transpose_b ? sizes.k : sizes.n,
                    false, c.data(), sizes.n);
    for (size_t i = 0; i < c.size(); ++i) {
      const size_t column = i % size_t(sizes.n);
      if (all) c[i] = std::max(0.0, c[i] * factors[column] + terms[column] + added[i]);
      if (!wide) c[i] = double(Bfloat16(float(c[i])));
    }
    return c;
  }

  template <class Tiles>
  std::vector<double> Run(bool all, bool wide) const {
    using Product = TileProduct<Tiles>;
    const auto [m, n, k] = sizes;
    // Made for a larger batch, as the last one of an epoch finds it.
    const Product product(transpose_a ? m : m + 9, n, transpose_a ? k + 9 : k, transpose_a,
                          transpose_b);
    const Tensor c = Pitched(IntegerTensor(wide ? kWide : kHalf, {m, n}, 6), kFormat);
    typename Product::Call call;
    call.m = m, call.n = n, call.k = k;
    call.a = {a.data<Bfloat16>(), a.RowPitch()};
    call.b = {b.data<Bfloat16>(), b.RowPitch()};
    if (all) {
      call.c.scale = scale.data<float>(), call.c.bias = bias.data<float>();
      call.c.addend = addend.data<Bfloat16>(), call.c.addend_pitch = addend.RowPitch();
      call.c.relu = true;
    }
    if (wide) {
      call.c.wide = c.data<float>();
    } else {
      call.c.out = c.data<Bfloat16>();
    }
    call.c.out_pitch = c.RowPitch();
    const testing::FencedWorkspace workspace(product.workspace_bytes());
    call.workspace = Workspace(workspace).data();
    product.Run(call);
    return Values(c);
  }

  Sizes sizes;
  bool transpose_a, transpose_b;
  Tensor a, b, scale, bias, addend;
};

// Calls test(problem) for all sizes and transposes.
template <class Test>
void ForEachProblem(bool integers, const Test& test) {
  for (const Sizes& sizes : kSizes) {
    for (int bits = 0; bits < 4; ++bits) {
      SCOPED_TRACE(::testing::Message() << sizes.m << " x " << sizes.n << " x " << sizes.k << " "
                                        << (bits & 1 ? "t" : "n") << (bits & 2 ? "t" : "n"));
      test(Problem(sizes, bits & 1, bits & 2, integers));
    }
  }
}

template <class Tiles>
class TileProductTest : public ::testing::Test {};
using Emulations = ::testing::Types<EmulatedTiles, EmulatedDots>;
TYPED_TEST_SUITE(TileProductTest, Emulations);

TYPED_TEST(TileProductTest, EmulatedResultsAreExactOnIntegersButForOneRounding) {
  ForEachProblem(true, [](const Problem& x) {
    EXPECT_TRUE(Close(x.template Run<TypeParam>(false, false), x.Expected(false, false), 0));
    EXPECT_TRUE(Close(x.template Run<TypeParam>(true, false), x.Expected(true, false), 0));
    EXPECT_TRUE(Close(x.template Run<TypeParam>(false, true), x.Expected(false, true), 0));
  });
}

TYPED_TEST(TileProductTest, SumsOfNothingAreZero) {
  for (int bits = 0; bits < 4; ++bits) {
    const Problem x({17, 33, 0}, bits & 1, bits & 2, true);
    EXPECT_EQ(x.template Run<TypeParam>(false, true), std::vector<double>(17 * 33, 0.0));
  }
}

// What fills up a tile is never multiplied with a number that is not finite, of whose row and
// column alone the results may be.
TYPED_TEST(TileProductTest, AnInfinityStaysInItsRowAndColumn) {
  ForEachProblem(true, [](Problem x) {
    const auto [m, n, k] = x.sizes;
    const auto set = [](const Tensor& matrix, int64_t row, int64_t column) {
      matrix.data<Bfloat16>()[row * matrix.RowPitch() + column] =
          Bfloat16(std::numeric_limits<float>::infinity());
    };
    x.transpose_a ? set(x.a, k - 1, m / 2) : set(x.a, m / 2, k - 1);
    x.transpose_b ? set(x.b, n - 1, 0) : set(x.b, 0, n - 1);
    const std::vector<double> c = x.template Run<TypeParam>(false, false);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (i == m / 2 || j == n - 1) continue;
        ASSERT_TRUE(std::isfinite(c[size_t(i * n + j)])) << i << ", " << j;
      }
    }
  });
}

TYPED_TEST(TileProductTest, SameBitsOnAnyNumberOfThreads) {
  const int before = NumThreads();
  for (int bits = 0; bits < 4; ++bits) {
    const Problem x({300, 290, 100}, bits & 1, bits & 2, false);
    SetNumThreads(1);
    const std::vector<double> one = x.template Run<TypeParam>(true, false);
    SetNumThreads(3);
    EXPECT_EQ(x.template Run<TypeParam>(true, false), one);
  }
  SetNumThreads(before);
}

TEST(TileProductHardwareTest, DotsGiveTheSameBits) {
  if (!DotRefusal().empty()) GTEST_SKIP() << DotRefusal();
  ForEachProblem(false, [](const Problem& x) {
    EXPECT_EQ(x.Run<HardwareDots>(true, false), x.Run<EmulatedDots>(true, false));
    EXPECT_EQ(x.Run<HardwareDots>(false, true), x.Run<EmulatedDots>(false, true));
  });
}

TEST(TileProductHardwareTest, TilesGiveTheSameBits) {
  if (!AmxRefusal().empty()) GTEST_SKIP() << AmxRefusal();
#ifdef DTNN_HAS_TILES
  ForEachProblem(false, [](const Problem& x) {
    EXPECT_EQ(x.Run<HardwareTiles>(true, false), x.Run<EmulatedTiles>(true, false));
    EXPECT_EQ(x.Run<HardwareTiles>(false, true), x.Run<EmulatedTiles>(false, true));
  });
#endif
}

}  // namespace
}  // namespace dtnn
