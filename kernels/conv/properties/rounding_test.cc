// Rounding errors against bounds that stand here, not against those that a variant claims for
// itself.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using conv::Direction;
using testing::Conv2dRunner;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

Tensor Full(const Shape& shape, double value) {
  return TensorOf(DType::kFloat32, shape, std::vector<double>(size_t(shape.NumElements()), value));
}

// Pairs of a result and a tap of an axis that read the image, for one tap.
int64_t ResultsOf(int64_t tap, int64_t extent, int64_t outputs, int64_t padding) {
  int64_t results = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    results += o + tap - padding >= 0 && o + tap - padding < extent;
  }
  return results;
}

// Equal terms, whose roundings mostly have one sign: a chain of float32 additions over a sixteenth
// of 200 704 pixels rounds by 1e-4, one over a strip or tile of some 2000, as the scalar kernels
// sum, by 2e-5.
TEST(Conv2dRoundingTest, GradientsOverManyPixelsAreSummedInTwoLevels) {
  const auto spec_of = [](int64_t channels, int64_t filters, int64_t groups, int64_t kernel) {
    Conv2dSpec spec;
    spec.batch = 16, spec.height = spec.width = 112;
    spec.channels = channels, spec.filters = filters, spec.groups = groups;
    spec.kernel = kernel, spec.padding = kernel / 2;
    return spec;
  };
  for (const Conv2dSpec& spec : {spec_of(8, 8, 1, 3), spec_of(16, 16, 1, 1), spec_of(3, 8, 1, 3),
                                 spec_of(8, 8, 8, 3), spec_of(8, 8, 8, 5), spec_of(8, 8, 8, 7)}) {
    constexpr double kBound = 4e-5;
    const float a = 0.7f, b = 0.1f;
    const Tensor x = Full(spec.InputShape(), a), dy = Full(spec.OutputShape(), b);
    const int64_t width = spec.kernel.horizontal;
    for (const std::string_view name : Conv2dVariantNames()) {
      if (!Conv2dRefusal(name, spec, Direction::kBackwardFilter).empty()) continue;
      SCOPED_TRACE(spec.ToString() + " " + std::string(name));
      const Tensor dw = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      Conv2dRunner(spec, testing::WhereSupported(name, spec)).BackwardFilter(x, dy, dw, dbias);
      const double pixels = double(spec.batch) * 112 * 112;
      EXPECT_NEAR(dbias.data<float>()[0] / (pixels * double(b)), 1, kBound);
      for (int64_t tap = 0; tap < spec.kernel.vertical * width; ++tap) {
        const int64_t results = ResultsOf(tap / width, 112, 112, spec.padding.vertical) *
                                ResultsOf(tap % width, 112, 112, spec.padding.horizontal);
        const double expected = double(spec.batch * results) * double(a) * double(b);
        EXPECT_NEAR(dw.data<float>()[tap * spec.filters] / expected, 1, kBound) << tap;
      }
    }
  }
}

double RootMeanSquareError(const Tensor& actual, const std::vector<double>& expected) {
  double sum = 0;
  const std::vector<double> values = Values(actual);
  for (size_t i = 0; i < values.size(); ++i) sum += std::pow(values[i] - expected[i], 2);
  return std::sqrt(sum / double(values.size()));
}

// What winograd says of its rounding is what it does, form by form: outputs of these sizes are
// computed with tiles of 2, 4 and 6.
TEST(Conv2dRoundingTest, WinogradRoundsAsItSays) {
  struct Case {
    int64_t kernel, map;
    double least, most;  // of what it says
  };
  for (const Case& c :
       {Case{3, 2, 0.9, 1.1}, {3, 8, 2, 2.2}, {3, 6, 8.5, 9.5}, {5, 8, 6.5, 7.5}, {5, 2, 2, 2.2}}) {
    Conv2dSpec spec;
    spec.batch = 8, spec.height = spec.width = c.map + c.kernel - 1;
    spec.channels = 48, spec.filters = 16, spec.kernel = c.kernel;
    SCOPED_TRACE(spec.ToString());
    const double says = Conv2dError("winograd", spec, Direction::kForward);
    EXPECT_GE(says, c.least);
    EXPECT_LE(says, c.most);
    const Tensor x = RandomTensor(spec.dtype, spec.InputShape(), 1);
    const Tensor w = RandomTensor(spec.dtype, spec.FilterShape(), 2);
    const std::vector<double> expected = reference::Conv2dForward(spec, Values(x), Values(w));
    const auto error = [&](std::string_view variant) {
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      Conv2dRunner(spec, variant).Forward(x, w, y);
      return RootMeanSquareError(y, expected);
    };
    const double ratio = error("winograd") / error("gemm");
    EXPECT_LE(ratio, 1.1 * says);
    EXPECT_GE(ratio, says / 3);
  }
}

}  // namespace
}  // namespace dtnn
