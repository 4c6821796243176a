#include "kernels/conv/winograd/tile_grid.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/geometry/phases.h"
#include "tensor/rounding.h"

namespace dtnn::conv::winograd {
namespace {

// The part of [begin, begin + extent) inside [0, size), relative to `begin`; empty: [0, 0).
std::pair<int, int> Inside(int64_t begin, int64_t extent, int64_t size) {
  const int64_t first = std::max<int64_t>(begin, 0), last = std::min(begin + extent, size);
  if (first >= last) return {0, 0};
  return {int(first - begin), int(last - begin)};
}

}  // namespace

TileGrid::TileGrid(const Conv2dSpec& spec, Direction direction, Form form) : form_(form) {
  const Phase vertical = VerticalPhases(spec, direction).front();
  const Phase horizontal = HorizontalPhases(spec, direction).front();
  in_height_ = vertical.inputs, in_width_ = horizontal.inputs;
  out_height_ = vertical.count, out_width_ = horizontal.count;
  top_ = vertical.low, left_ = horizontal.low;
  rows_ = CeilDiv(out_height_, form.outputs);
  columns_ = CeilDiv(out_width_, form.outputs);
}

TileGrid::Place TileGrid::PlaceOf(int64_t tile) const {
  const int64_t row = tile / columns_;
  return {row / rows_, row % rows_, tile % columns_};
}

void TileGrid::Advance(Place& place) const {
  if (++place.column < columns_) return;
  place.column = 0;
  if (++place.row < rows_) return;
  place.row = 0;
  ++place.image;
}

template <typename T>
void TileGrid::ListInput(const Images<const T>& in, int64_t first, int64_t count,
                         InWindow<T>* windows) const {
  Place place = PlaceOf(first);
  for (int64_t i = 0; i < count; ++i, Advance(place)) {
    const int64_t row = place.row * form_.outputs + top_;
    const int64_t column = place.column * form_.outputs + left_;
    InWindow<T>& window = windows[i];
    std::tie(window.top, window.bottom) = Inside(row, form_.points(), in_height_);
    std::tie(window.left, window.right) = Inside(column, form_.points(), in_width_);
    const bool empty = window.bottom == 0 || window.right == 0;
    if (empty) window.bottom = window.right = 0;
    window.data =
        empty ? in.data : in.At(place.image, row + window.top) + (column + window.left) * in.pixel;
  }
}

template <typename T>
void TileGrid::ListGradient(const Images<const T>& dy, int64_t first, int64_t count,
                            InWindow<T>* windows) const {
  Place place = PlaceOf(first);
  for (int64_t i = 0; i < count; ++i, Advance(place)) {
    const int64_t row = place.row * form_.outputs, column = place.column * form_.outputs;
    windows[i] = {.data = dy.At(place.image, row) + column * dy.pixel,
                  .top = 0,
                  .bottom = int(std::min<int64_t>(form_.outputs, out_height_ - row)),
                  .left = 0,
                  .right = int(std::min<int64_t>(form_.outputs, out_width_ - column))};
  }
}

template <typename T>
void TileGrid::ListOutput(const Images<T>& out, const Images<const T>& addend, int64_t first,
                          int64_t count, OutWindow<T>* windows) const {
  Place place = PlaceOf(first);
  for (int64_t i = 0; i < count; ++i, Advance(place)) {
    const int64_t row = place.row * form_.outputs, column = place.column * form_.outputs;
    OutWindow<T>& window = windows[i];
    window.data = out.At(place.image, row) + column * out.pixel;
    window.addend =
        addend.data == nullptr ? nullptr : addend.At(place.image, row) + column * addend.pixel;
    window.rows = int(std::min<int64_t>(form_.outputs, out_height_ - row));
    window.columns = int(std::min<int64_t>(form_.outputs, out_width_ - column));
  }
}

template void TileGrid::ListInput(const Images<const float>&, int64_t, int64_t,
                                  InWindow<float>*) const;
template void TileGrid::ListInput(const Images<const double>&, int64_t, int64_t,
                                  InWindow<double>*) const;
template void TileGrid::ListGradient(const Images<const float>&, int64_t, int64_t,
                                     InWindow<float>*) const;
template void TileGrid::ListGradient(const Images<const double>&, int64_t, int64_t,
                                     InWindow<double>*) const;
template void TileGrid::ListOutput(const Images<float>&, const Images<const float>&, int64_t,
                                   int64_t, OutWindow<float>*) const;
template void TileGrid::ListOutput(const Images<double>&, const Images<const double>&, int64_t,
                                   int64_t, OutWindow<double>*) const;

}  // namespace dtnn::conv::winograd
