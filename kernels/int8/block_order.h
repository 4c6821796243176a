// Which results a block of the products has: the rows of a block are pixels a fixed distance apart.

#ifndef DTNN_KERNELS_INT8_BLOCK_ORDER_H_
#define DTNN_KERNELS_INT8_BLOCK_ORDER_H_

#include <cstdint>

#include "kernels/conv/conv2d_spec.h"
#include "kernels/int8/image_rows.h"
#include "kernels/int8/products.h"

namespace dtnn::int8 {

enum class BlockOrder : uint8_t {
  kRunOn,        // pixels one after another, on over the ends of rows and images
  kRows,         // pixels of a row of the map
  kInterleaved,  // the same pixel of the map in several images
};

// The order that computes the fewest products: with those of results that are thrown away, and
// without those of padding that a block skips, if it `skips_padding`.
BlockOrder ChooseBlockOrder(const Conv2dSpec& spec, const ImageRows& rows,
                            const ProductKernel& kernel, bool skips_padding, int64_t images);

// How many of `left` pixels the next block has: as many as there can be, or so that all that follow
// have about as many.
int64_t NextRows(const ProductKernel& kernel, int64_t left);

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_BLOCK_ORDER_H_
