#include "kernels/int8/block_order.h"

#include <algorithm>

#include "tensor/rounding.h"

namespace dtnn::int8 {
namespace {

// What blocks for `pixels` cost, in rows. One begins and ends in about the time of a row.
int64_t Cost(const ProductKernel& kernel, int64_t pixels) {
  return kernel.fewer_rows ? pixels + CeilDiv(pixels, int64_t{kernel.rows})
                           : RoundUp(pixels, int64_t{kernel.rows});
}

}  // namespace

int64_t NextRows(const ProductKernel& kernel, int64_t left) {
  const int64_t blocks = CeilDiv(left, int64_t{kernel.rows});
  return kernel.fewer_rows ? CeilDiv(left, blocks) : std::min<int64_t>(left, kernel.rows);
}

BlockOrder ChooseBlockOrder(const Conv2dSpec& spec, const ImageRows& rows,
                            const ProductKernel& kernel, bool skips_padding, int64_t images) {
  const int64_t height = spec.out_height(), width = spec.out_width();
  // Taps that are not skipped, as shares of rows and columns.
  auto used_rows = double(height), used_columns = double(width);
  if (skips_padding) {
    used_rows = used_columns = 0;
    for (int64_t y = 0; y < height; ++y) {
      const Taps taps = rows.TapsInside(y, 0);
      used_rows += double(taps.y_end - taps.y) / double(spec.kernel.vertical);
    }
    for (int64_t x = 0; x < width; ++x) {
      const Taps taps = rows.TapsInside(0, x);
      used_columns += double(taps.x_end - taps.x) / double(spec.kernel.horizontal);
    }
  }
  // All of an image.
  const auto run_on = double(Cost(kernel, height * rows.pitch() - rows.pitch() + width));
  const double in_rows = used_rows * double(Cost(kernel, width));
  const double products = used_rows * used_columns * double(Cost(kernel, images)) / double(images);
  // Copies that interleave take a pixel at a time: in the time of the products of a row, which are
  // one of 16 quads per cycle, or `speed`.
  const auto channels = double(spec.channels / spec.groups);
  const double of_a_result = channels / kQuadBytes * double(spec.kernel.vertical) *
                             double(spec.kernel.horizontal) *
                             double(CeilDiv(spec.filters / spec.groups, int64_t{kPanelFilters}));
  const double copies = double(spec.height) * double(spec.width) * (5 + channels / 8) *
                        double(kernel.speed) / of_a_result;
  const double least_gain = kernel.fewer_rows ? 1.02 : 1.1;
  if (rows.may_interleave() && least_gain * (products + copies) < std::min(run_on, in_rows)) {
    return BlockOrder::kInterleaved;
  }
  return in_rows < run_on ? BlockOrder::kRows : BlockOrder::kRunOn;
}

}  // namespace dtnn::int8
