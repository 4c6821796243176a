#include "optim/losses/targets.h"

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

TEST(TargetRowsTest, AClassIsAOneAmongZeros) {
  const Tensor classes = testing::TensorOf(DType::kInt32, {2}, {2, 0});
  const TargetRows<float> rows(classes);
  EXPECT_TRUE(rows.are_classes());
  EXPECT_EQ(rows.ClassOf(0), 2);
  EXPECT_EQ(rows.At(0, 1), 0);
  EXPECT_EQ(rows.At(0, 2), 1);
  EXPECT_EQ(rows.At(1, 0), 1);
}

TEST(TargetRowsTest, ValuesAreReadThroughTheirPitch) {
  const Tensor dense = testing::TensorOf(DType::kFloat64, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor pitched = testing::Pitched(dense, TensorFormat::kNHWC);
  const TargetRows<double> rows(pitched);
  EXPECT_FALSE(rows.are_classes());
  EXPECT_EQ(rows.At(0, 0), 1);
  EXPECT_EQ(rows.At(1, 2), 6);
}

}  // namespace
}  // namespace dtnn
