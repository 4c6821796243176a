// The variant for a direction of a spec where nobody names one: the first of a list, from the most
// special to the most general, that supports it and pays there.

#include <algorithm>

#include "kernels/conv/conv2d.h"
#include "kernels/conv/winograd/form.h"

namespace dtnn {
namespace {

// Transforming costs in proportion to images + outputs, products to images x outputs: with few
// channels nothing is saved. The transformed filter is read once per block of tiles, and the one of
// a gradient written once, which costs as much as the products of tens of tiles. Limits measured
// with bench:convolutions, one thread, on cores with AVX-512.
bool WinogradPays(const Conv2dSpec& spec, conv::Direction direction) {
  const int64_t channels = spec.channels / spec.groups, filters = spec.filters / spec.groups;
  if (std::min(channels, filters) < 4 || channels * filters < 144) return false;
  const conv::winograd::Form form = *conv::winograd::ChooseForm(spec, direction);
  const double saved = conv::winograd::ProductsSaved(spec, direction, form);
  if (saved < 1.5) return false;
  const auto tiles = double(spec.batch * conv::winograd::TilesPerImage(spec, direction, form));
  switch (direction) {
    case conv::Direction::kForward:
      return true;
    case conv::Direction::kBackwardData:
      return tiles >= 16;
    case conv::Direction::kBackwardFilter:
      return tiles * (saved - 1) >= 32;
  }
  return false;
}

// Vectors of pixels pay where vectors of filters would be mostly empty: with a single tap only for
// fewer than half a vector of them.
bool DirectPays(const Conv2dSpec& spec, conv::Direction direction) {
  if (direction == conv::Direction::kBackwardFilter) {
    return spec.kernel != Pair(1) && spec.filters <= 8 && spec.channels <= 4;
  }
  const bool backward = direction == conv::Direction::kBackwardData;
  return spec.kernel != Pair(1) || (backward ? spec.channels : spec.filters) <= 4;
}

// Tiles are 16 channels by 16 filters and up to 32 deep: of small groups they are mostly empty. The
// gradient of a filter is 32 pixels deep, and over few of them its sums cost more than the
// products.
bool TilesPay(const Conv2dSpec& spec, conv::Direction direction) {
  if (direction == conv::Direction::kBackwardFilter &&
      spec.batch * spec.out_height() * spec.out_width() < 1024) {
    return false;
  }
  return std::min(spec.channels, spec.filters) / spec.groups >= 3 &&
         std::max(spec.channels, spec.filters) / spec.groups >= 8;
}

}  // namespace

std::string_view AutomaticVariant(const Conv2dSpec& spec, conv::Direction direction) {
  const auto computes = [&](std::string_view name) {
    return Conv2dRefusal(name, spec, direction).empty();
  };
  if (computes("amx") && TilesPay(spec, direction)) return "amx";
  // A single channel has no neighbours to fill a vector with.
  if (spec.channels > 1 && computes("depthwise")) return "depthwise";
  if (computes("winograd") && WinogradPays(spec, direction)) return "winograd";
  if (computes("direct") && DirectPays(spec, direction)) return "direct";
  return "gemm";
}

}  // namespace dtnn
