// Batches without images, of convolutions that are none of the plainest.

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Conv2dRunner;
using testing::IntegerTensor;
using testing::Pitched;
using testing::Values;
using testing::WhereSupported;
using testing::ZeroTensor;

std::vector<Conv2dSpec> Specs() {
  Conv2dSpec plain;
  plain.batch = 3, plain.height = 9, plain.width = 8, plain.channels = 8, plain.filters = 8;
  plain.kernel = 3, plain.padding = 1;
  plain.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
  std::vector<Conv2dSpec> specs(7, plain);
  specs[1].stride = 2;
  specs[2].dilation = Pair(2, 1);
  specs[3].groups = 2;
  specs[4].groups = 8;  // depthwise
  specs[5].groups = 8, specs[5].stride = 2, specs[5].dilation = 2;
  specs[6].groups = 4, specs[6].stride = Pair(1, 3), specs[6].filters = 12;
  return specs;
}

// Nothing is read or written but the gradients of filter and bias, which are sums of nothing.
TEST(Conv2dEmptyTest, StridesDilationGroupsAndEveryEpilogue) {
  for (const std::string_view variant : Conv2dVariantNames()) {
    for (Conv2dSpec spec : Specs()) {
      for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
        for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
          spec.format = format, spec.dtype = dtype;
          SCOPED_TRACE(absl::StrCat(std::string(variant), " ", spec.ToString()));
          Conv2dRunner runner(spec, WhereSupported(variant, spec));
          const auto none = [&](const Shape& shape) {
            return Pitched(IntegerTensor(dtype, shape, 1), format).Samples(0, 0, format);
          };
          const Tensor x = none(spec.InputShape()), y = none(spec.OutputShape());
          const Tensor w = IntegerTensor(dtype, spec.FilterShape(), 2);
          const Tensor vector = IntegerTensor(dtype, {spec.filters}, 3);
          const Tensor dw = IntegerTensor(dtype, spec.FilterShape(), 4);
          const Tensor dbias = IntegerTensor(dtype, {spec.filters}, 5);
          const std::vector<double> dw_before = Values(dw), dbias_before = Values(dbias);
          runner.Forward(x, w, y, {.bias = vector, .scale = vector, .addend = y});
          runner.BackwardData(y, w, x, false);
          runner.BackwardData(y, w, x, true);
          runner.BackwardFilter(x, y, dw, dbias, /*accumulate=*/true);
          EXPECT_EQ(Values(dw), dw_before);
          EXPECT_EQ(Values(dbias), dbias_before);
          runner.BackwardFilter(x, y, dw, dbias, /*accumulate=*/false);
          EXPECT_EQ(Values(dw), std::vector<double>(dw_before.size(), 0));
          EXPECT_EQ(Values(dbias), std::vector<double>(dbias_before.size(), 0));
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtnn
