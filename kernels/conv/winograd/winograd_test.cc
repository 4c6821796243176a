// Which specs take the sliced kernels: a wrong choice costs only time. That both compute the same
// is tested with all variants.

#include "kernels/conv/winograd/winograd.h"

#include "gtest/gtest.h"
#include "kernels/conv/winograd/sliced_data.h"
#include "kernels/conv/winograd/sliced_filter.h"

namespace dtnn::conv {
namespace {

Conv2dSpec SpecOf(int64_t channels, int64_t filters, int64_t side) {
  Conv2dSpec spec;
  spec.batch = 4, spec.height = spec.width = side;
  spec.channels = channels, spec.filters = filters;
  spec.padding = 1;
  return spec;
}

template <typename T>
bool SlicesFilter(Conv2dSpec spec) {
  spec.dtype = DTypeOf<T>();
  const auto kernel = kWinograd.makers<T>().filter(spec);
  return dynamic_cast<const winograd::SlicedFilter<T>*>(kernel.get()) != nullptr;
}

template <typename T>
bool SlicesData(Conv2dSpec spec, Direction direction) {
  spec.dtype = DTypeOf<T>();
  const auto kernel = kWinograd.makers<T>().data(spec, direction);
  return dynamic_cast<const winograd::SlicedData<T>*>(kernel.get()) != nullptr;
}

template <typename T>
bool IsKept(Conv2dSpec spec, Direction direction) {
  spec.dtype = DTypeOf<T>();
  return kWinograd.makers<T>().data(spec, direction)->derived_elements() > 0;
}

TEST(WinogradTest, GradientsOfManyChannelsAndFiltersAreSliced) {
  struct {
    int64_t channels, filters;
    bool sliced;
  } const kCases[] = {{64, 64, false}, {64, 127, false}, {127, 64, false}, {64, 128, true},
                      {128, 64, true}, {31, 512, false}, {512, 31, false}, {32, 256, true},
                      {256, 32, true}, {512, 512, true}};
  for (const auto& [channels, filters, sliced] : kCases) {
    const Conv2dSpec spec = SpecOf(channels, filters, 14);
    EXPECT_EQ(SlicesFilter<float>(spec), sliced) << spec.ToString();
    EXPECT_EQ(SlicesFilter<double>(spec), sliced) << spec.ToString();
  }
}

// More than 3 MB of transformed filter: of 36 elements for each where a map of 16 x 16 has tiles of
// 4 x 4, of 64 for each where one of 18 x 18 has tiles of 6 x 6.
TEST(WinogradTest, FiltersOfMoreThan3MegabytesAreSlicedAndNotKept) {
  struct {
    int64_t channels, filters, side;
    bool float32, float64;
  } const kCases[] = {
      {128, 85, 16, false, false}, {128, 86, 16, false, true}, {128, 170, 16, false, true},
      {128, 171, 16, true, true},  {171, 128, 16, true, true}, {48, 128, 18, false, false},
      {49, 128, 18, false, true},  {96, 128, 18, false, true}, {97, 128, 18, true, true}};
  for (const auto& [channels, filters, side, float32, float64] : kCases) {
    const Conv2dSpec spec = SpecOf(channels, filters, side);
    for (const Direction direction : {Direction::kForward, Direction::kBackwardData}) {
      EXPECT_EQ(SlicesData<float>(spec, direction), float32) << spec.ToString();
      EXPECT_EQ(SlicesData<double>(spec, direction), float64) << spec.ToString();
      EXPECT_EQ(IsKept<float>(spec, direction), !float32) << spec.ToString();
      EXPECT_EQ(IsKept<double>(spec, direction), !float64) << spec.ToString();
    }
  }
}

}  // namespace
}  // namespace dtnn::conv
