#include "kernels/batch_norm/fold.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

TEST(FoldBatchNormTest, ScaleAndShiftAreTheFormula) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const auto tensor = [&](const std::vector<double>& values) {
      return TensorOf(dtype, {3}, values);
    };
    const std::vector<double> gamma = {1, -2, .5}, beta = {0, 3, -1}, mean = {.25, -1, 100};
    const std::vector<double> variance = {1, 4, -.5};  // the last is garbage that counts as 0
    const BatchNormParameters parameters = {{tensor(gamma), 1}, {tensor(beta), 1}};
    const RunningStatistics running = {{tensor(mean), 1}, {tensor(variance), 1}};
    const Tensor scale = ZeroTensor(dtype, {3}), shift = ZeroTensor(dtype, {3});
    const std::vector<double> bias = {10, 20, 30}, none = {0, 0, 0};
    for (const bool with_bias : {false, true}) {
      const Tensor added = with_bias ? tensor(bias) : Tensor();
      FoldBatchNorm(parameters, running, 1e-3, added, scale, shift);
      for (const double a : {0.0, 1.5}) {
        std::vector<double> actual, expected;
        for (size_t c = 0; c < 3; ++c) {
          const double deviation = std::sqrt(std::fmax(variance[c], 0) + 1e-3);
          actual.push_back(Values(scale)[c] * a + Values(shift)[c]);
          expected.push_back(gamma[c] * (a + (with_bias ? bias : none)[c] - mean[c]) / deviation +
                             beta[c]);
        }
        const double relative = dtype == DType::kFloat32 ? 1e-6 : 1e-14;
        EXPECT_TRUE(Close(actual, expected, relative, relative));
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
