#include "kernels/gemm/gemm_grid.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(GemmGridTest, EveryThreadHasItsShareOfALargeProduct) {
  for (const int64_t m : {100, 512, 1000, 4096}) {
    for (const int64_t n : {512, 1000, 4096}) {
      for (int64_t threads = 1; threads <= 16; ++threads) {
        const GemmGrid grid = ChooseGemmGrid(m, n, threads);
        EXPECT_LE(grid.row_parts * grid.column_parts, threads);
        EXPECT_GE(grid.rows * grid.row_parts, m);
        EXPECT_GE(grid.columns * grid.column_parts, n);
        EXPECT_LE(double(grid.rows * grid.columns) * double(threads), 1.25 * double(m * n))
            << m << " x " << n << ", " << threads << " threads: " << grid.row_parts << " x "
            << grid.column_parts << " parts";
      }
    }
  }
}

TEST(GemmGridTest, RowsOrColumnsAloneAreDividedToo) {
  EXPECT_EQ(ChooseGemmGrid(1, 4096, 8).column_parts, 8);
  EXPECT_EQ(ChooseGemmGrid(4096, 10, 8).row_parts, 8);
  EXPECT_EQ(ChooseGemmGrid(64, 64, 4).row_parts * ChooseGemmGrid(64, 64, 4).column_parts, 4);
  EXPECT_EQ(ChooseGemmGrid(1, 10, 8).row_parts * ChooseGemmGrid(1, 10, 8).column_parts, 1);
}

}  // namespace
}  // namespace dtnn
