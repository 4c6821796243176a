#include "kernels/conv/amx/filter_copies.h"

#include <algorithm>

#include "kernels/amx/packing.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::conv::amx {
namespace {

constexpr int64_t kPlaces = 128;  // that are packed at a time

}  // namespace

void FilterCopies::Pack(const FilterPlan::Strip& strip) const {
  const int64_t of_x = CeilDiv(plan_.x_pixels, kPlaces), of_dy = CeilDiv(plan_.pixels, kPlaces);
  ParallelFor(0, plan_.planes() * of_x + of_dy, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      if (item < of_dy) {
        PackDy(strip, item * kPlaces);
      } else {
        PackX(strip, (item - of_dy) / of_x, (item - of_dy) % of_x * kPlaces);
      }
    }
  });
  if (plan_.together > 1) ListSteps(strip);
}

// Across images: the pixels that each tap meets, of all groups of the strip.
void FilterCopies::ListSteps(const FilterPlan::Strip& strip) const {
  const Phase &vertical = plan_.vertical.phase, &horizontal = plan_.horizontal.phase;
  const int64_t most = plan_.pixels / FilterPlan::kDepth,
                used = plan_.UsedPixels(strip) / FilterPlan::kDepth;
  const int64_t first = plan_.FirstInput(strip);
  ParallelFor(0, int64_t(plan_.taps.size()), 1 + 4096 / used, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const FilterPlan::Tap& tap = plan_.taps[size_t(i)];
      tile::Step* const steps = memory_.steps + i * most;
      int64_t* const steps_end = memory_.steps_end + i * (most + 1);
      int64_t count = steps_end[0] = 0;
      for (int64_t pixel = 0; pixel < used; ++pixel) {
        const int64_t line = pixel / plan_.pitch, row = line % plan_.image_rows;
        const int64_t h = (strip.row + row) * vertical.in_step + tap.vertical;
        const int64_t w = pixel % plan_.pitch * horizontal.in_step + tap.horizontal;
        if (h >= 0 && h < vertical.inputs && w >= 0 && w < horizontal.inputs) {
          const int64_t input = line / plan_.image_rows * plan_.x_rows + h - first;
          steps[count++] = {(input * horizontal.inputs + w) * FilterPlan::kDepth,
                            pixel * FilterPlan::kDepth * 16};
        }
        steps_end[pixel + 1] = count;
      }
    }
  });
}

void FilterCopies::PackDy(const FilterPlan::Strip& strip, int64_t first) const {
  const Bfloat16* at[kPlaces];
  const int64_t count = std::min(kPlaces, plan_.pixels - first);
  plan_.ForEachPlace(first, count, [&](int64_t i, int64_t image, int64_t row, int64_t column) {
    const Bfloat16* const pixel = DyAt(strip, image, row, column);
    at[i] = pixel == nullptr ? memory_.zeros : pixel;
  });
  const tile::Pixels pixels = {at, count, plan_.filters};
  Bfloat16* const to = memory_.dy + first * 16;
  vectors_ ? tile::PackPairsInVectors(pixels, to, plan_.panel())
           : tile::PackPairsPlainly(pixels, to, plan_.panel());
}

void FilterCopies::PackX(const FilterPlan::Strip& strip, int64_t plane, int64_t first) const {
  const Bfloat16* at[kPlaces];
  const int64_t count = std::min(kPlaces, plan_.x_pixels - first);
  if (plan_.together > 1) {
    const int64_t first_row = plan_.FirstInput(strip), columns = plan_.horizontal.phase.inputs;
    plan_.ForEachPlace(first, count, columns, plan_.x_rows,
                       [&](int64_t i, int64_t image, int64_t row, int64_t column) {
                         const int64_t h = first_row + row;
                         const bool there = image < strip.images && h < plan_.vertical.phase.inputs;
                         at[i] = there ? x_.At(strip.image + image, h) + column * x_.pixel
                                       : memory_.zeros;
                       });
  } else {
    const auto width = int64_t(plan_.horizontal.residues.size());
    const int64_t down = plan_.vertical.phase.low + plan_.vertical.residues[size_t(plane / width)];
    const int64_t right =
        plan_.horizontal.phase.low + plan_.horizontal.residues[size_t(plane % width)];
    plan_.ForEachPlace(first, count, [&](int64_t i, int64_t image, int64_t row, int64_t column) {
      const Bfloat16* const pixel = XAt(strip, image, row, column, down, right);
      at[i] = pixel == nullptr ? memory_.zeros : pixel;
    });
  }
  const tile::Pixels pixels = {at, count, plan_.channels};
  Bfloat16* const to = plan_.XPlane(memory_, plane) + first;
  vectors_ ? tile::TransposeInVectors(pixels, to, plan_.x_pitch)
           : tile::TransposePlainly(pixels, to, plan_.x_pitch);
}

// The pixel of dy at a place of its copy, and that of x at the same place of a copy whose first
// input is (down, right); null where there is none.
const Bfloat16* FilterCopies::DyAt(const FilterPlan::Strip& strip, int64_t image, int64_t row,
                                   int64_t column) const {
  const int64_t line = strip.row + row;
  if (image >= strip.images || row >= strip.rows || column >= plan_.ColumnsOf(line, images_)) {
    return nullptr;
  }
  if (plan_.pointwise_pixels > 0) return dy_.data + (line * plan_.columns + column) * dy_.pixel;
  return dy_.At(strip.image + image, line) + column * dy_.pixel;
}
const Bfloat16* FilterCopies::XAt(const FilterPlan::Strip& strip, int64_t image, int64_t row,
                                  int64_t column, int64_t down, int64_t right) const {
  if (plan_.pointwise_pixels > 0) {
    if (DyAt(strip, image, row, column) == nullptr) return nullptr;
    return x_.data + ((strip.row + row) * plan_.columns + column) * x_.pixel;
  }
  const int64_t h = (strip.row + row) * plan_.vertical.phase.in_step + down;
  const int64_t w = column * plan_.horizontal.phase.in_step + right;
  if (image >= strip.images || h < 0 || h >= plan_.vertical.phase.inputs || w < 0 ||
      w >= plan_.horizontal.phase.inputs) {
    return nullptr;
  }
  return x_.At(strip.image + image, h) + w * x_.pixel;
}

}  // namespace dtnn::conv::amx
