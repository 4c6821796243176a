#include "kernels/conv/winograd/winograd.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/conv/winograd/form.h"
#include "kernels/conv/winograd/fused_data.h"
#include "kernels/conv/winograd/fused_filter.h"
#include "kernels/conv/winograd/sliced_data.h"
#include "kernels/conv/winograd/sliced_filter.h"

namespace dtnn::conv {
namespace {

using winograd::Form;

// Bytes of a transformed filter that a core reads from the L3 cache in less time than it takes
// to multiply a block of tiles. A larger one is transformed in every call, also for inference:
// kept, those of 256 x 256 to 512 x 512 filters took 1.2 to 1.4 times as long, with 1 to 64 images,
// on one core of an Emerald Rapids.
constexpr int64_t kLargeFilter = 3 << 20;

// Channels times filters of a gradient that is summed faster from tiles in the L3 cache than
// from tiles that are transformed again for every block of it; where there are so many of each.
constexpr int64_t kLargeGradient = 64 * 128;
constexpr int64_t kFewChannels = 32;

Support SupportOf(const Conv2dSpec& spec, Direction direction) {
  if (spec.stride != Pair(1)) return {"computes a stride of 1 only"};
  if (spec.dilation != Pair(1)) return {"computes a dilation of 1 only"};
  const std::optional<Form> form = winograd::ChooseForm(spec, direction);
  if (!form.has_value()) return {"computes kernels of 3x3 and 5x5 only"};
  return {.refusal = "", .error = form->error};
}

// That of a group. Images of bfloat16 are computed with in float32.
bool IsLargeFilter(const Conv2dSpec& spec, Form form) {
  const int64_t size = spec.dtype == DType::kFloat64 ? 8 : 4;
  return spec.channels / spec.groups * (spec.filters / spec.groups) * form.elements() * size >
         kLargeFilter;
}

// Transforming costs in proportion to images + outputs, products to images x outputs: with few
// channels nothing is saved. The transformed filter is read once per block of tiles, and the one of
// a gradient written once, which costs as much as the products of tens of tiles. Limits measured
// with bench:convolutions, one thread, on cores with AVX-512.
double Gain(const Conv2dSpec& spec, Direction direction) {
  const int64_t channels = spec.channels / spec.groups, filters = spec.filters / spec.groups;
  if (std::min(channels, filters) < 4 || channels * filters < 144) return 0;
  const Form form = *winograd::ChooseForm(spec, direction);
  const double saved = winograd::ProductsSaved(spec, direction, form);
  if (saved < 1.5) return 0;
  const auto tiles = double(spec.batch * winograd::TilesPerImage(spec, direction, form));
  // To transform a filter in every call costs as much as the products of several tiles.
  if (IsLargeFilter(spec, form) && tiles * (saved - 1) < 4.5) return 0;
  if (direction == Direction::kBackwardData && tiles < 16) return 0;
  if (direction == Direction::kBackwardFilter && tiles * (saved - 1) < 32) return 0;
  return saved;
}

template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Conv2dSpec& spec, Direction direction) {
  const Form form = *winograd::ChooseForm(spec, direction);
  if (IsLargeFilter(spec, form)) {
    return std::make_unique<winograd::SlicedData<T>>(spec, direction, form);
  }
  return std::make_unique<winograd::FusedData<T>>(spec, direction, form);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Conv2dSpec& spec) {
  const Form form = *winograd::ChooseForm(spec, Direction::kBackwardFilter);
  if (spec.channels * spec.filters >= kLargeGradient &&
      std::min(spec.channels, spec.filters) >= kFewChannels) {
    return std::make_unique<winograd::SlicedFilter<T>>(spec, form);
  }
  return std::make_unique<winograd::FusedFilter<T>>(spec, form);
}

}  // namespace

constexpr Variant kWinograd = {
    .name = "winograd",
    .support = &SupportOf,
    .gain = &Gain,
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
};

}  // namespace dtnn::conv
