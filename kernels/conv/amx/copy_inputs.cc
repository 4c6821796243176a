#include "kernels/conv/amx/copy_inputs.h"

#include <algorithm>

#include "kernels/amx/products.h"
#include "tensor/rounding.h"

namespace dtnn::conv::amx {
namespace {

// `count` pixels, `step` elements apart, to every `to_step` elements, with zeros up to the channels
// of the copy.
void CopyPixels(const TilePlan& plan, const TilePlan::Part& part, const Bfloat16* from,
                int64_t step, int64_t count, Bfloat16* to, int64_t to_step) {
  const int64_t zeros = part.depth.channels - plan.depth();
  if (zeros == 0 && step == plan.depth() && to_step == plan.depth()) {
    std::copy_n(from, count * plan.depth(), to);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from + i * step, plan.depth(), to + i * to_step);
    std::fill_n(to + i * to_step + plan.depth(), zeros, Bfloat16(0));
  }
}

void CopyBlock(const TilePlan& plan, const TilePlan::Block& block, const Images<const Bfloat16>& in,
               Bfloat16* copy) {
  const TilePlan::Part& part = *block.part;
  const Phase &vertical = *part.vertical, &horizontal = *part.horizontal;
  const TilePlan::Layout layout = plan.LayoutOf(block);
  const int64_t rows = layout.plane / layout.pitch;
  // With one tap, only the inputs that it reads.
  const int64_t step = part.column_span == 0 ? horizontal.in_step : 1;
  const int64_t first = block.column * horizontal.in_step + part.low_column;
  // Pixels of a row of the copy before, and up to the end of, those inside of the image.
  const int64_t before =
      std::clamp<int64_t>(CeilDiv(std::max<int64_t>(-first, 0), step), 0, layout.reach);
  const int64_t end = std::clamp<int64_t>(
      CeilDiv(std::max<int64_t>(horizontal.inputs - first, 0), step), before, layout.reach);
  for (int64_t plane = 0; plane < part.planes; ++plane) {
    for (int64_t i = 0; i < rows; ++i) {
      Bfloat16* const to = copy + (plane * layout.plane + i * layout.pitch) * part.pitch;
      const int64_t h = (block.row + i) * vertical.in_step + part.low_row + plane;
      const bool inside = h >= 0 && h < vertical.inputs && end > before;
      const int64_t zeros = inside ? before : layout.reach;
      std::fill_n(to, zeros * part.pitch, Bfloat16(0));
      if (!inside) continue;
      CopyPixels(plan, part, in.At(block.image, h) + (first + before * step) * in.pixel,
                 step * in.pixel, end - before, to + before * part.pitch, part.pitch);
      std::fill_n(to + end * part.pitch, (layout.reach - end) * part.pitch, Bfloat16(0));
    }
  }
}

// Every `step`-th input along an axis, from `first` on: those that one tap reads, or all.
struct Read {
  int64_t first, step;

  static Read Of(const Phase& phase, int64_t low, int64_t span) {
    const int64_t step = span == 0 ? phase.in_step : 1;
    return {((low % step) + step) % step, step};
  }
  int64_t count(int64_t inputs) const {
    return CeilDiv(std::max(inputs - first, int64_t{0}), step);
  }
};

// In the order [pixel][image], so that a tile's rows lie side by side.
void CopyAcrossImages(const TilePlan& plan, const TilePlan::Block& block,
                      const Images<const Bfloat16>& in, Bfloat16* copy) {
  const TilePlan::Part& part = *block.part;
  const int64_t width = part.horizontal->inputs;
  const int64_t together = RoundUp(plan.group_images(), int64_t{kTileRows});
  const Read rows = Read::Of(*part.vertical, part.low_row, part.row_span);
  const Read columns = Read::Of(*part.horizontal, part.low_column, part.column_span);
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t h = rows.first; h < part.vertical->inputs; h += rows.step) {
      CopyPixels(plan, part, in.At(block.image + n, h) + columns.first * in.pixel,
                 columns.step * in.pixel, columns.count(width),
                 copy + ((h * width + columns.first) * together + n) * part.pitch,
                 columns.step * together * part.pitch);
    }
  }
}

}  // namespace

void CopyInputs(const TilePlan& plan, const TilePlan::Block& block,
                const Images<const Bfloat16>& in, Bfloat16* copy) {
  if (plan.pointwise() || block.part->runs.empty()) return;
  if (plan.group_images() > 1) {
    CopyAcrossImages(plan, block, in, copy);
  } else {
    CopyBlock(plan, block, in, copy);
  }
}

}  // namespace dtnn::conv::amx
