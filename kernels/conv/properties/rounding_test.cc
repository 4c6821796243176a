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

Tensor Positive(const Shape& shape, uint64_t seed) {
  std::vector<double> values = Values(RandomTensor(DType::kFloat32, shape, seed));
  for (double& value : values) value = std::abs(value);
  return TensorOf(DType::kFloat32, shape, values);
}

// The gradient of the filter's elements of channel 0 and filter 0, of NHWC images, in double.
std::vector<double> FirstGradients(const Conv2dSpec& spec, const Tensor& x, const Tensor& dy) {
  std::vector<double> sums(size_t(spec.kernel.vertical * spec.kernel.horizontal));
  for (int64_t n = 0; n < spec.batch; ++n) {
    for (int64_t h = 0; h < spec.out_height(); ++h) {
      for (int64_t w = 0; w < spec.out_width(); ++w) {
        const int64_t pixel = (n * spec.out_height() + h) * spec.out_width() + w;
        const double gradient = dy.data<float>()[pixel * spec.filters];
        for (size_t tap = 0; tap < sums.size(); ++tap) {
          const int64_t row = h - spec.padding.vertical + int64_t(tap) / spec.kernel.horizontal;
          const int64_t column =
              w - spec.padding.horizontal + int64_t(tap) % spec.kernel.horizontal;
          if (row < 0 || row >= spec.height || column < 0 || column >= spec.width) continue;
          const int64_t at = (n * spec.height + row) * spec.width + column;
          sums[tap] += gradient * double(x.data<float>()[at * spec.channels]);
        }
      }
    }
  }
  return sums;
}

// A chain of float32 additions over a sixteenth of 200 704 pixels would round by more than 1e-4.
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
    const Tensor x = Positive(spec.InputShape(), 1), dy = Positive(spec.OutputShape(), 2);
    const std::vector<double> expected = FirstGradients(spec, x, dy);
    double bias = 0;
    for (int64_t i = 0; i < dy.num_elements(); i += spec.filters) bias += dy.data<float>()[i];
    for (const std::string_view name : Conv2dVariantNames()) {
      if (!Conv2dRefusal(name, spec, Direction::kBackwardFilter).empty()) continue;
      SCOPED_TRACE(spec.ToString() + " " + std::string(name));
      const double bound = name == "winograd" ? 4e-5 : 4e-6;
      const Tensor dw = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      Conv2dRunner(spec, testing::WhereSupported(name, spec)).BackwardFilter(x, dy, dw, dbias);
      EXPECT_NEAR(dbias.data<float>()[0] / bias, 1, 4e-6);
      for (size_t tap = 0; tap < expected.size(); ++tap) {
        const double sum = dw.data<float>()[int64_t(tap) * spec.filters];
        EXPECT_NEAR(sum / expected[tap], 1, bound) << tap;
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
