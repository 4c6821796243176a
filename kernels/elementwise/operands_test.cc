#include "kernels/elementwise/operands.h"

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Pitched;
using testing::ZeroTensor;

constexpr DType kFloat = DType::kFloat32;

TEST(RowGridTest, DenseTensorsAreOneRow) {
  const Tensor x = ZeroTensor(kFloat, {2, 3, 4, 5});
  const RowGrid grid = GridOf(TensorFormat::kNHWC, {&x, &x});
  EXPECT_EQ(grid.rows, 1);
  EXPECT_EQ(grid.columns, 120);
}

TEST(RowGridTest, OnePitchedTensorSplitsTheGridForAll) {
  const Tensor dense = ZeroTensor(kFloat, {2, 3, 4, 5}), none;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor pitched = Pitched(dense, format);
    const RowGrid grid = GridOf(format, {&none, &dense, &pitched});
    const bool pixels = format == TensorFormat::kNHWC;
    EXPECT_EQ(grid.rows, pixels ? 24 : 2);
    EXPECT_EQ(grid.columns, pixels ? 5 : 60);
    EXPECT_EQ(OperandIn(grid, dense, format).pitch, grid.columns);
    EXPECT_EQ(OperandIn(grid, pitched, format).pitch, pixels ? 10 : 160);
    EXPECT_EQ(OperandIn(grid, pitched, format).At<float>(1, 0) - pitched.data<float>(),
              pixels ? 10 : 160);
  }
}

TEST(CheckOperandsTest, ErrorsNameOperationAndDifference) {
  const Tensor x = ZeroTensor(kFloat, {2, 3}), wide = ZeroTensor(kFloat, {2, 4}), none;
  EXPECT_TRUE(CheckOperands("relu", kFloat, {&x, &x}).ok());
  EXPECT_EQ(CheckOperands("relu", kFloat, {&x, &wide}).message(),
            "relu: operands of shapes (2, 3) and (2, 4), expected equal ones");
  EXPECT_EQ(CheckOperands("relu", DType::kFloat64, {&x}).message(),
            "relu: an operand is float32, expected float64");
  EXPECT_EQ(CheckOperands("relu", kFloat, {&x, &none}).message(), "relu: an operand has no memory");
  EXPECT_EQ(CheckFloating("relu", DType::kInt32).message(),
            "relu: dtype int32, expected float32 or float64");
  EXPECT_EQ(NoKernelFor("relu", Device::Cuda(1)).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace dtnn
