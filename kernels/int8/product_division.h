// How the products of a convolution in 8 bits are divided into tasks: so that the pixels of one
// stay in the L2 cache, and every thread has as much to do.

#ifndef DTNN_KERNELS_INT8_PRODUCT_DIVISION_H_
#define DTNN_KERNELS_INT8_PRODUCT_DIVISION_H_

#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/int8/block_order.h"
#include "kernels/int8/image_rows.h"
#include "kernels/int8/products.h"

namespace dtnn::int8 {

// How many images, rows of each and panels a task has, and how many tasks there are for a group.
// Where pixels are read where they are, they count as images of one row.
struct ProductDivision {
  BlockOrder order = BlockOrder::kRunOn;
  int64_t units = 1, rows = 1, panels = 1;
  int64_t unit_tasks = 1, row_tasks = 1, panel_tasks = 1;
  int64_t tasks() const { return unit_tasks * row_tasks * panel_tasks; }
};

class ProductDivider {
 public:
  // `direct`: pixels are read where they are. `rows` and `kernel` outlive this.
  ProductDivider(const Conv2dSpec& spec, const ImageRows& rows, const ProductKernel& kernel,
                 bool direct, bool skips_padding);

  ProductDivision DivisionOf(int64_t images, int threads) const;
  // Room for the copies of any division, of a batch as large as the spec's or smaller.
  int64_t CopyBytes() const;

 private:
  const Conv2dSpec spec_;
  const ImageRows& rows_;
  const ProductKernel& kernel_;
  const bool direct_, skips_padding_;
  const int64_t panels_, panel_bytes_;  // of a group; of a panel
};

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_PRODUCT_DIVISION_H_
