#include "kernels/operands/operand.h"

#include <string>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Pitched;
using testing::ZeroTensor;

constexpr DType kFloat = DType::kFloat32;

std::string Error(const Tensor& tensor, Device device, Pitch pitch) {
  return std::string(
      CheckOperand("sum", "the bias", tensor, device, kFloat, {2, 3}, pitch).message());
}

TEST(CheckOperandTest, NamesWhatIsWrong) {
  const Device cpu = Device::Cpu();
  const Tensor x = ZeroTensor(kFloat, {2, 3}), pitched = Pitched(x, TensorFormat::kNHWC);
  EXPECT_EQ(Error(x, cpu, Pitch::kNone), "");
  EXPECT_EQ(Error(pitched, cpu, Pitch::kAllowed), "");
  EXPECT_EQ(Error(Tensor(), cpu, Pitch::kAllowed), "sum: the bias is missing");
  EXPECT_EQ(Error(ZeroTensor(kFloat, {3, 2}), cpu, Pitch::kNone),
            "sum: the bias has shape (3, 2) of float32 on cpu; expected (2, 3) of float32 on cpu");
  EXPECT_EQ(Error(ZeroTensor(DType::kFloat64, {2, 3}), cpu, Pitch::kNone),
            "sum: the bias has shape (2, 3) of float64 on cpu; expected (2, 3) of float32 on cpu");
  EXPECT_EQ(Error(x, Device::Cuda(1), Pitch::kNone),
            "sum: the bias has shape (2, 3) of float32 on cpu; expected (2, 3) of float32 on "
            "cuda:1");
  EXPECT_EQ(Error(pitched, cpu, Pitch::kNone),
            "sum: the bias has shape (2, 3) of float32 on cpu, pitched; expected (2, 3) of float32 "
            "on cpu, dense");
}

}  // namespace
}  // namespace dtnn
