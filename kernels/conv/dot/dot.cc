#include "kernels/conv/dot/dot.h"

#include <algorithm>

#include "kernels/amx/amx.h"
#include "kernels/amx/dots.h"
#include "kernels/conv/amx/tile_data.h"
#include "kernels/conv/amx/tile_filter.h"

namespace dtnn::conv {
namespace {

Support SupportOf(const Conv2dSpec& spec, Direction) {
  if (spec.dtype != DType::kBfloat16) return {.refusal = "computes bfloat16 only"};
  return {.refusal = DotRefusal()};
}

// Twice the products of float32, for two copies less. Panels are 16 results wide, and pairs are
// packed: of few channels that costs more than the products. Limits measured with
// bench:convolutions, one thread of a Zen 4.
double Gain(const Conv2dSpec& spec, Direction direction) {
  // In the measure of winograd, whose gain is the products that it saves: it reaches about two
  // thirds of that.
  constexpr double kGain = 2.65, kFilterGain = 2.4;
  if (!DotsAreFast()) return 0;
  const int64_t channels = spec.channels / spec.groups, filters = spec.filters / spec.groups;
  const int64_t taps = spec.kernel.vertical * spec.kernel.horizontal;
  if (direction == Direction::kBackwardFilter) {
    // Both images are packed, which costs as channels + filters do.
    const bool many = taps * channels * filters >= 28 * (channels + filters);
    const bool wide = std::min(channels, filters) >= 3 && std::max(channels, filters) >= 16;
    return many && wide && spec.batch * spec.out_height() * spec.out_width() >= 32 ? kFilterGain
                                                                                   : 0;
  }
  const bool forward = direction == Direction::kForward;
  const int64_t depth = forward ? channels : filters, results = forward ? filters : channels;
  if (depth < 3 || depth * taps < (depth < 4 ? 64 : 16) || results < 8) return 0;
  return kGain;
}

}  // namespace

constexpr Variant kDot = {
    .name = "dot",
    .support = &SupportOf,
    .gain = &Gain,
    .bf16 = {.data = &amx::MakeTileData<HardwareDots>,
             .filter = &amx::MakeTileFilter<HardwareDots>},
};

}  // namespace dtnn::conv
