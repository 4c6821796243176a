// The cases that the tests of all variants of convolutions share; a case has its spec, its operands
// and how much its sums may round.

#ifndef DTNN_KERNELS_CONV_TESTING_CONV2D_CASES_H_
#define DTNN_KERNELS_CONV_TESTING_CONV2D_CASES_H_

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "kernels/conv/testing/hard_specs.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

using Conv2dCase = std::pair<std::string_view, Conv2dSpec>;  // a variant

inline std::string NameOf(const ::testing::TestParamInfo<Conv2dCase>& info) {
  return std::string(info.param.first) + "_" + info.param.second.ToString();
}

// Every variant with the specs of which it computes a direction, in both formats.
inline std::vector<Conv2dCase> HardConv2dCases(std::initializer_list<DType> dtypes) {
  std::vector<Conv2dCase> cases;
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (Conv2dSpec spec : HardConv2dSpecs()) {
      for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        for (const DType dtype : dtypes) {
          spec.format = format;
          spec.dtype = dtype;
          const bool computes =
              std::ranges::any_of(conv::kDirections, [&](const conv::Direction direction) {
                return Conv2dRefusal(variant, spec, direction).empty();
              });
          if (computes) cases.emplace_back(variant, spec);
        }
      }
    }
  }
  return cases;
}

class Conv2dCaseTest : public ::testing::TestWithParam<Conv2dCase> {
 protected:
  Conv2dSpec spec_ = GetParam().second;
  Conv2dVariants variants_ = WhereSupported(GetParam().first, spec_);

  Tensor Zeros(const Shape& shape) const { return ZeroTensor(spec_.dtype, shape); }
  Tensor Integers(const Shape& shape, uint64_t seed) const {
    return IntegerTensor(spec_.dtype, shape, seed, 3);
  }
  Tensor Random(const Shape& shape, uint64_t seed) const {
    return RandomTensor(spec_.dtype, shape, seed);
  }
  std::vector<double> Of(const Tensor& tensor) const { return Values(tensor, spec_.format); }
  // The tolerance of a sum of `terms` values in [-1, 1]. Its partial sums grow with the square root
  // of their number, so the walk of their roundings grows linearly; this is about six standard
  // deviations.
  static double WalkTolerance(DType dtype, int64_t terms) {
    return SumTolerance(dtype, terms) * (1 + 0.4 * std::sqrt(double(terms)));
  }
  double ErrorOf(conv::Direction direction) const {
    return Conv2dError(variants_[direction], spec_, direction);
  }
  int64_t Taps() const { return spec_.kernel.vertical * spec_.kernel.horizontal; }
  int64_t Patch() const { return spec_.channels / spec_.groups * Taps(); }
  int64_t BackwardPatch() const { return spec_.filters / spec_.groups * Taps(); }
  int64_t Pixels() const { return spec_.batch * spec_.out_height() * spec_.out_width(); }
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_CONV_TESTING_CONV2D_CASES_H_
