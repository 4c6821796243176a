#include "kernels/conv/gemm/gemm.h"

#include <memory>

#include "kernels/conv/gemm/filter_gemm.h"
#include "kernels/conv/gemm/gather_gemm.h"
#include "kernels/conv/gemm/row_patches.h"

namespace dtnn::conv {
namespace {

template <typename T>
std::unique_ptr<DataKernel<T>> MakeData(const Conv2dSpec& spec, Direction direction) {
  if (direction == Direction::kForward && gemm::SuitsRowPatches(spec)) {
    return gemm::MakeRowPatchesForward<T>(spec);
  }
  return std::make_unique<gemm::GatherGemm<T>>(spec, direction);
}
template <typename T>
std::unique_ptr<FilterKernel<T>> MakeFilter(const Conv2dSpec& spec) {
  if (gemm::SuitsRowPatches(spec)) return gemm::MakeRowPatchesFilter<T>(spec);
  return std::make_unique<gemm::FilterGemm<T>>(spec);
}

}  // namespace

constexpr Variant kGemm = {
    .name = "gemm",
    .support = [](const Conv2dSpec&, Direction) { return Support(); },
    .gain = [](const Conv2dSpec&, Direction) { return 1.0; },
    .f32 = {.data = &MakeData<float>, .filter = &MakeFilter<float>},
    .f64 = {.data = &MakeData<double>, .filter = &MakeFilter<double>},
};

}  // namespace dtnn::conv
