#include "kernels/conv/winograd/form.h"

#include <algorithm>

#include "tensor/rounding.h"

namespace dtnn::conv::winograd {
namespace {

// Those of the same kernel in the order in which they are preferred, unless a later one saves
// kWorthwhile times as many products: its tiles cost more to transform for each product (2 x 2), or
// round more and leave less of a block of tiles in the L2 cache (6 x 6).
constexpr Form kForms[] = {
    {.outputs = 4, .taps = 3, .error = 2.1}, {.outputs = 2, .taps = 3, .error = 1},
    {.outputs = 6, .taps = 3, .error = 9},   {.outputs = 4, .taps = 5, .error = 7},
    {.outputs = 2, .taps = 5, .error = 2.1},
};
constexpr double kWorthwhile = 1.15;

// Pairs of a result and a tap along an axis that read the image.
int64_t PairsInside(int64_t in, int64_t out, int64_t taps, int64_t padding) {
  int64_t pairs = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    pairs += std::max<int64_t>(
        0, std::min(out, in + padding - tap) - std::max<int64_t>(0, padding - tap));
  }
  return pairs;
}

int64_t Products(const Conv2dSpec& spec, Direction direction, Form form) {
  return TilesPerImage(spec, direction, form) * form.elements();
}

}  // namespace

std::optional<Form> ChooseForm(const Conv2dSpec& spec, Direction direction) {
  std::optional<Form> chosen;
  for (const Form& form : kForms) {
    if (spec.kernel != Pair(form.taps)) continue;
    if (!chosen.has_value() || double(Products(spec, direction, *chosen)) >
                                   kWorthwhile * double(Products(spec, direction, form))) {
      chosen = form;
    }
  }
  return chosen;
}

int64_t TilesPerImage(const Conv2dSpec& spec, Direction direction, Form form) {
  const bool backward = direction == Direction::kBackwardData;
  return CeilDiv<int64_t>(backward ? spec.height : spec.out_height(), form.outputs) *
         CeilDiv<int64_t>(backward ? spec.width : spec.out_width(), form.outputs);
}

double ProductsSaved(const Conv2dSpec& spec, Direction direction, Form form) {
  const int64_t rows =
      PairsInside(spec.height, spec.out_height(), spec.kernel.vertical, spec.padding.vertical);
  const int64_t columns =
      PairsInside(spec.width, spec.out_width(), spec.kernel.horizontal, spec.padding.horizontal);
  return double(rows * columns) / double(Products(spec, direction, form));
}

}  // namespace dtnn::conv::winograd
