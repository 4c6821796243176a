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
  const Device cpu = Device::Cpu();
  EXPECT_TRUE(CheckOperands("relu", cpu, kFloat, {&x, &x}).ok());
  EXPECT_EQ(CheckOperands("relu", cpu, kFloat, {&x, &wide}).message(),
            "relu: an operand has shape (2, 4) of float32 on cpu; expected (2, 3) of float32 on "
            "cpu");
  EXPECT_EQ(CheckOperands("relu", Device::Cuda(0), DType::kFloat64, {&x}).message(),
            "relu: an operand has shape (2, 3) of float32 on cpu; expected (2, 3) of float64 on "
            "cuda:0");
  EXPECT_EQ(CheckOperands("relu", cpu, kFloat, {&x, &none}).message(),
            "relu: an operand is missing");
  EXPECT_EQ(CheckFloating("relu", DType::kInt32).message(),
            "relu: dtype int32, expected float32 or float64");
  EXPECT_EQ(NoKernelFor("relu", Device::Cuda(1)).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace dtnn
