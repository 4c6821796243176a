#include "kernels/conv/direct/direct.h"

#include <memory>

#include "kernels/conv/direct/planar.h"

namespace dtnn::conv {
namespace {

template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Conv2dSpec& spec, Direction direction) {
  return std::make_unique<direct::PlanarData<T>>(spec, direction);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Conv2dSpec& spec) {
  return std::make_unique<direct::PlanarFilter<T>>(spec);
}

Support SupportOf(const Conv2dSpec& spec, Direction direction) {
  Support support;
  if (!direct::SuitsPlanes(spec, direction)) {
    support.refusal = "computes stride 1 with few channels on maps wider than the kernel";
  }
  return support;
}

// Vectors of pixels pay where vectors of filters would be mostly empty: with a single tap only for
// fewer than half a vector of them.
double Gain(const Conv2dSpec& spec, Direction direction) {
  const bool one_tap = spec.kernel == Pair(1);
  const int64_t results = direction == Direction::kBackwardData ? spec.channels : spec.filters;
  const bool pays = direction == Direction::kBackwardFilter
                        ? !one_tap && spec.filters <= 8 && spec.channels <= 4
                        : !one_tap || results <= 4;
  return pays ? 1.25 : 0;
}

}  // namespace

constexpr Variant kDirect = {
    .name = "direct",
    .any_format = true,
    .support = &SupportOf,
    .gain = &Gain,
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
    .bf16 = {.data = &MakeData<Bfloat16>, .filter = &MakeFilter<Bfloat16>},
};

}  // namespace dtnn::conv
