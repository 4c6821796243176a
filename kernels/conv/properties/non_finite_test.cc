// How far a NaN or an infinity of the images reaches: to the results whose windows hold it, and no
// further, but for the tiles of winograd.

#include <cmath>
#include <cstdlib>
#include <limits>
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
using testing::IntegerTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<Conv2dSpec> Specs() {
  std::vector<Conv2dSpec> specs;
  Conv2dSpec spec;
  spec.batch = 2, spec.height = 13, spec.width = 19;
  const auto add = [&](int64_t channels, int64_t filters, int64_t groups, Pair padding) {
    spec.channels = channels, spec.filters = filters, spec.groups = groups, spec.padding = padding;
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      spec.format = format;
      specs.push_back(spec);
    }
  };
  add(3, 5, 1, 1);
  add(3, 8, 1, Pair(0, 2));
  add(16, 18, 1, 1);
  add(17, 17, 17, 1);
  spec.dilation = 3;
  add(16, 18, 1, 3);
  spec.dilation = 1, spec.stride = 2;
  add(3, 18, 1, 1);
  add(17, 17, 17, 1);
  return specs;
}

// A dense tensor of integers from 1 to 3, and the same with one other value.
struct Images {
  Tensor clean, spoilt;
};
Images Spoil(const Conv2dSpec& spec, const Shape& shape, uint64_t seed, int64_t image, int64_t row,
             int64_t column, int64_t channel, double value) {
  std::vector<double> values = Values(IntegerTensor(spec.dtype, shape, seed, 3));
  for (double& each : values) each = std::abs(each) + 1;
  const Tensor clean = TensorOf(spec.dtype, shape, values);
  const bool nhwc = spec.format == TensorFormat::kNHWC;
  values[size_t(nhwc ? ((image * shape[1] + row) * shape[2] + column) * shape[3] + channel
                     : ((image * shape[1] + channel) * shape[2] + row) * shape[3] + column)] =
      value;
  return {clean, TensorOf(spec.dtype, shape, values)};
}

// Where the definition has a finite result, `spoilt` is `clean`; and elsewhere it is not finite,
// and with `kinds` of the same kind.
void ExpectLocal(const std::vector<double>& spoilt, const std::vector<double>& clean,
                 const std::vector<double>& expected) {
  int not_finite = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i])) {
      ASSERT_EQ(spoilt[i], clean[i]) << i;
    } else {
      ++not_finite;
      ASSERT_EQ(std::isnan(spoilt[i]), std::isnan(expected[i])) << i << ": " << spoilt[i];
      ASSERT_FALSE(std::isfinite(spoilt[i])) << i;
    }
  }
  EXPECT_GT(not_finite, 0);
  EXPECT_LT(not_finite, int(expected.size()));
}

template <class Test>
void ForEach(const Test& test) {
  for (const Conv2dSpec& spec : Specs()) {
    for (const std::string_view name : Conv2dVariantNames()) {
      if (name == "winograd") continue;
      for (const double value : {kNaN, kInfinity}) {
        SCOPED_TRACE(spec.ToString() + " " + std::string(name) + " " + std::to_string(value));
        test(spec, name, value);
      }
    }
  }
}

Tensor Ones(const Conv2dSpec& spec, const Shape& shape) {
  return testing::OnesTensor(spec.dtype, shape);
}

TEST(Conv2dNonFiniteTest, StaysInTheOutputsWhoseWindowsHoldIt) {
  ForEach([](const Conv2dSpec& spec, std::string_view name, double value) {
    if (!Conv2dRefusal(name, spec, Direction::kForward).empty()) return;
    const Tensor w = Ones(spec, spec.FilterShape());
    for (const auto& [row, column] : {std::pair(0, 0), {6, 18}, {12, 9}}) {
      const Images x = Spoil(spec, spec.InputShape(), 1, 1, row, column, 1, value);
      const Tensor clean = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor spoilt = ZeroTensor(spec.dtype, spec.OutputShape());
      Conv2dRunner runner(spec, testing::WhereSupported(name, spec));
      runner.Forward(x.clean, w, clean);
      runner.Forward(x.spoilt, w, spoilt);
      ExpectLocal(
          Values(spoilt, spec.format), Values(clean, spec.format),
          reference::Conv2dForward(spec, Values(x.spoilt, spec.format), Values(w, spec.format)));
    }
  });
}

TEST(Conv2dNonFiniteTest, StaysInTheInputsThatAreInItsWindow) {
  ForEach([](const Conv2dSpec& spec, std::string_view name, double value) {
    if (!Conv2dRefusal(name, spec, Direction::kBackwardData).empty()) return;
    const Tensor w = Ones(spec, spec.FilterShape());
    for (const auto& [row, column] : {std::pair(0, 0), {3, 5}}) {
      const Images dy = Spoil(spec, spec.OutputShape(), 1, 1, row, column, 2, value);
      const Tensor clean = ZeroTensor(spec.dtype, spec.InputShape());
      const Tensor spoilt = ZeroTensor(spec.dtype, spec.InputShape());
      Conv2dRunner runner(spec, testing::WhereSupported(name, spec));
      runner.BackwardData(dy.clean, w, clean);
      runner.BackwardData(dy.spoilt, w, spoilt);
      ExpectLocal(Values(spoilt, spec.format), Values(clean, spec.format),
                  reference::Conv2dBackwardData(spec, Values(dy.spoilt, spec.format),
                                                Values(w, spec.format)));
    }
  });
}

// A corner is read by one tap alone, an edge by a row or a column of them. What stands in planes
// behind the end of a row is not read.
TEST(Conv2dNonFiniteTest, StaysInTheTapsThatReadIt) {
  ForEach([](const Conv2dSpec& spec, std::string_view name, double value) {
    if (!Conv2dRefusal(name, spec, Direction::kBackwardFilter).empty()) return;
    const auto positive = [&](uint64_t seed) {
      return Spoil(spec, spec.OutputShape(), seed, 0, 0, 0, 0, 1).clean;
    };
    const Tensor dy = positive(2);
    for (const auto& [row, column] : {std::pair(0, 0), {0, 18}, {12, 0}, {6, 0}, {6, 18}}) {
      const Images x = Spoil(spec, spec.InputShape(), 1, 1, row, column, 1, value);
      const Tensor clean = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor spoilt = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      Conv2dRunner runner(spec, testing::WhereSupported(name, spec));
      runner.BackwardFilter(x.clean, dy, clean, dbias);
      const std::vector<double> bias = Values(dbias);
      runner.BackwardFilter(x.spoilt, dy, spoilt, dbias);
      EXPECT_EQ(Values(dbias), bias);
      const auto expected = reference::Conv2dBackwardFilter(spec, Values(x.spoilt, spec.format),
                                                            Values(dy, spec.format));
      ExpectLocal(Values(spoilt, spec.format), Values(clean, spec.format), expected);
      // Added to what is there.
      runner.BackwardFilter(x.spoilt, dy, clean, Tensor(), /*accumulate=*/true);
      ExpectLocal(
          Values(clean, spec.format),
          [&] {
            std::vector<double> twice = Values(spoilt, spec.format);
            for (double& each : twice) each *= 2;
            return twice;
          }(),
          expected);
    }
  });
}

// The tiles that read it, of at most 6 x 6 results, become NaN as a whole, and no other.
TEST(Conv2dNonFiniteTest, WinogradSpoilsTheTilesThatReadIt) {
  for (const int64_t kernel : {3, 5}) {
    Conv2dSpec spec;
    spec.batch = 2, spec.height = spec.width = 29, spec.channels = 16, spec.filters = 17;
    spec.kernel = kernel, spec.padding = kernel / 2;
    const Tensor w = Ones(spec, spec.FilterShape());
    for (const double value : {kNaN, kInfinity}) {
      const Images x = Spoil(spec, spec.InputShape(), 1, 1, 14, 14, 1, value);
      const Tensor clean = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor spoilt = ZeroTensor(spec.dtype, spec.OutputShape());
      Conv2dRunner runner(spec, "winograd");
      runner.Forward(x.clean, w, clean);
      runner.Forward(x.spoilt, w, spoilt);
      const std::vector<double> a = Values(spoilt), b = Values(clean);
      const int64_t near = kernel / 2, far = kernel / 2 + 5;  // from the pixel
      for (size_t i = 0; i < a.size(); ++i) {
        const int64_t pixel = int64_t(i) / spec.filters;
        const int64_t distance =
            std::max(std::abs(pixel / 29 % 29 - 14), std::abs(pixel % 29 - 14));
        const bool same_image = pixel / (29 * 29) == 1;
        if (same_image && distance <= near) {
          EXPECT_FALSE(std::isfinite(a[i])) << i;
        } else if (!same_image || distance > far) {
          EXPECT_EQ(a[i], b[i]) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
