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

}  // namespace

constexpr Variant kDirect = {
    .name = "direct",
    .any_format = true,
    .support = &SupportOf,
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
};

}  // namespace dtnn::conv
