#include "kernels/int8/product_division.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "tensor/rounding.h"

namespace dtnn::int8 {
namespace {

constexpr ProductKernel kKernels[] = {{.rows = 12, .fewer_rows = true},
                                      {.rows = 12, .element_bytes = 2},
                                      {.rows = 32, .tap_bytes = kMostDepth, .speed = 8}};

// Small maps with many channels, of which the cache has a few images only, up to those of which it
// has no row.
TEST(ProductDivisionTest, HasAllResultsAndItsCopiesFitTheirRoom) {
  for (const ProductKernel& kernel : kKernels) {
    for (const int64_t extent : {1, 2, 4, 7, 40}) {
      for (const int64_t channels : {64, 512, 1024, 1280, 4096}) {
        for (const int64_t batch : {1, 31, 33, 64, 100, 108}) {
          for (const int64_t stride : {1, 2}) {
            Conv2dSpec spec;
            spec.batch = batch, spec.height = spec.width = extent;
            spec.channels = channels, spec.filters = 1000,
            spec.kernel = std::min<int64_t>(extent, 3);
            spec.stride = stride, spec.padding = (spec.kernel.vertical - 1) / 2;
            const ImageRows rows(spec, kernel);
            const ProductDivider divider(spec, rows, kernel, /*direct=*/false,
                                         /*skips_padding=*/false);
            const int64_t beyond = kMostRows * rows.pixel_step() + kMostDepth;
            for (const int threads : {1, 2, 4, 16}) {
              for (const int64_t images : {batch, CeilDiv(batch, int64_t{3})}) {
                const ProductDivision d = divider.DivisionOf(images, threads);
                EXPECT_GE(d.unit_tasks * d.units, images);
                EXPECT_GE(d.row_tasks * d.rows, spec.out_height());
                EXPECT_LE(rows.Bytes(std::min(d.units, images), d.rows) + beyond,
                          divider.CopyBytes())
                    << spec.ToString() << ", " << images << " images, blocks of " << kernel.rows
                    << ", " << threads << " threads: " << d.units << " images of " << d.rows
                    << " rows";
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn::int8
