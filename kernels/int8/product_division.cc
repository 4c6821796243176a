#include "kernels/int8/product_division.h"

#include <algorithm>

#include "kernels/workspace/scratch.h"
#include "tensor/rounding.h"

namespace dtnn::int8 {
namespace {

// Bytes of operands that stay in the L2 cache beside a panel.
constexpr int64_t kBlockBytes = 768 << 10;
// Results of a task, where there are so many: a panel that comes from the L2 cache is used by all.
constexpr int64_t kTaskResults = 512;

}  // namespace

ProductDivider::ProductDivider(const Conv2dSpec& spec, const ImageRows& rows,
                               const ProductKernel& kernel, bool direct, bool skips_padding)
    : spec_(spec),
      rows_(rows),
      kernel_(kernel),
      direct_(direct),
      skips_padding_(skips_padding),
      panels_(CeilDiv(spec.filters / spec.groups, kPanelFilters)),
      panel_bytes_(rows.step_count() * rows.depth() * kPanelFilters) {}

ProductDivision ProductDivider::DivisionOf(int64_t images, int threads) const {
  ProductDivision d = {.panels = panels_};
  if (!direct_) d.order = ChooseBlockOrder(spec_, rows_, kernel_, skips_padding_, images);
  // All pixels of a direct one are alike: they count as images.
  const int64_t units = direct_ ? images * spec_.height * spec_.width : images;
  const int64_t out_rows = direct_ ? 1 : spec_.out_height();
  const int64_t unit_results = direct_ ? 1 : rows_.pitch();
  const int64_t least = direct_                               ? int64_t{kMostRows}
                        : d.order == BlockOrder::kInterleaved ? kernel_.rows
                                                              : 1;
  const auto bytes = [&] { return direct_ ? 0 : rows_.Bytes(d.units, d.rows); };
  d.rows = out_rows;
  d.units = std::min(least, units);
  while (d.rows > 1 && bytes() > kBlockBytes) d.rows = CeilDiv(d.rows, 2);
  if (d.rows == out_rows) {
    // From here on a multiple of `least`, even if there are fewer units: a smaller number that is
    // rounded up at the end is no more than what fits here.
    const int64_t most = units < least ? units : RoundUp(units, least);
    d.units = std::clamp(kTaskResults / (out_rows * unit_results) / least * least, d.units, most);
    while (d.units > least && bytes() > kBlockBytes) d.units -= least;
  }
  const auto enough = [&] {
    d.unit_tasks = CeilDiv(units, d.units);
    d.row_tasks = CeilDiv(out_rows, d.rows);
    d.panel_tasks = CeilDiv(panels_, d.panels);
    return threads == 1 || spec_.groups * d.tasks() >= 2 * threads;
  };
  while (!enough()) {
    // Each task reads its panels, and copies its images.
    const bool large_filters = d.panels * panel_bytes_ > bytes() && !direct_;
    if (large_filters && d.panels > kPanels) {
      d.panels = RoundUp(CeilDiv(d.panels, 2), int64_t{kPanels});
    } else if (d.units > least) {
      d.units = RoundUp(CeilDiv(d.units, 2), least);
    } else if (d.rows > 1 && d.rows * d.units * unit_results > 4 * kMostRows) {
      d.rows = CeilDiv(d.rows, 2);
    } else if (d.panels > kPanels) {
      d.panels = RoundUp(CeilDiv(d.panels, 2), int64_t{kPanels});
    } else {
      break;
    }
  }
  // As many images for each task, and as many tasks for each thread.
  int64_t tasks = d.unit_tasks;
  if (spec_.groups * d.tasks() < 8 * threads) {
    tasks = std::min(RoundUp(tasks, int64_t{threads}), CeilDiv(units, least));
  }
  d.units = CeilDiv(units, tasks);
  if (!kernel_.fewer_rows) d.units = RoundUp(d.units, least);
  d.unit_tasks = CeilDiv(units, d.units);
  return d;
}

int64_t ProductDivider::CopyBytes() const {
  // What the last block reads beyond the pixels that count, and steps beyond their taps.
  int64_t bytes = kMostRows * rows_.pixel_step() + kMostDepth;
  if (!direct_) {
    const int64_t images = std::min<int64_t>(spec_.batch, kernel_.rows);
    bytes += std::min(rows_.Bytes(spec_.batch, spec_.out_height()),
                      std::max(kBlockBytes, rows_.Bytes(images, 1)));
  }
  return RoundUp(bytes, int64_t{kScratchAlignment});
}

}  // namespace dtnn::int8
