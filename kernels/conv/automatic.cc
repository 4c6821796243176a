// The variant for a direction of a spec where nobody names one: the first of a list, from the most
// special to the most general, that supports it and pays there.

#include <algorithm>

#include "kernels/conv/conv2d.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

constexpr int64_t kTile = 4;  // pixels along an edge of what winograd computes at once

// Transforming costs in proportion to images + outputs, products to images x outputs: with few
// channels nothing is saved. Tiles that reach beyond an edge are computed whole. The transformed
// filter is read once per block of tiles, and the one of a gradient written once: where there are
// few tiles, that is the most of the work. Limits measured with bench:convolutions, one thread of
// a Cascade Lake with AVX-512.
bool WinogradPays(const Conv2dSpec& spec, conv::Direction direction) {
  const int64_t channels = spec.channels / spec.groups, filters = spec.filters / spec.groups;
  if (std::min(channels, filters) < 4 || channels * filters < 144) return false;
  // Forward in tiles of outputs, backwards in tiles of the input's gradient.
  const bool backward = direction == conv::Direction::kBackwardData;
  const int64_t height = backward ? spec.height : spec.out_height();
  const int64_t width = backward ? spec.width : spec.out_width();
  if (std::min(height, width) < kTile) return false;
  const int64_t rows = CeilDiv(height, kTile), columns = CeilDiv(width, kTile);
  const int64_t tiles = spec.batch * rows * columns;
  if (double(rows * columns * kTile * kTile) > 1.8 * double(height * width)) return false;
  switch (direction) {
    case conv::Direction::kForward:
      return true;
    case conv::Direction::kBackwardData:
      return tiles >= 16;
    case conv::Direction::kBackwardFilter:
      return tiles >= 64;
  }
  return false;
}

}  // namespace

std::string_view AutomaticVariant(const Conv2dSpec& spec, conv::Direction direction) {
  const auto computes = [&](std::string_view name) {
    return Conv2dRefusal(name, spec, direction).empty();
  };
  // A single channel has no neighbours to fill a vector with.
  if (spec.channels > 1 && computes("depthwise")) return "depthwise";
  if (computes("winograd") && WinogradPays(spec, direction)) return "winograd";
  return computes("direct") ? "direct" : "gemm";
}

}  // namespace dtnn
