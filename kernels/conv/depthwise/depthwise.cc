#include "kernels/conv/depthwise/depthwise.h"

#include <memory>

#include "kernels/conv/depthwise/data.h"
#include "kernels/conv/depthwise/filter.h"

namespace dtnn::conv {
namespace {

template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Conv2dSpec& spec, Direction direction) {
  return std::make_unique<depthwise::DepthwiseData<T>>(spec, direction);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Conv2dSpec& spec) {
  return std::make_unique<depthwise::DepthwiseFilter<T>>(spec);
}

Support SupportOf(const Conv2dSpec& spec, Direction) {
  Support support;
  if (spec.groups != spec.channels || spec.filters != spec.channels) {
    support.refusal = "computes one filter per channel: as many filters and groups as channels";
  }
  return support;
}

}  // namespace

constexpr Variant kDepthwise = {
    .name = "depthwise",
    .grouped = true,
    .support = &SupportOf,
    // A single channel has no neighbours to fill a vector with.
    .gain = [](const Conv2dSpec& spec, Direction) { return spec.channels > 1 ? 4.0 : 0.0; },
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
    .bf16 = {.data = &MakeData<Bfloat16>, .filter = &MakeFilter<Bfloat16>},
};

}  // namespace dtnn::conv
