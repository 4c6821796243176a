#include "kernels/add/add.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/add/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

class AddTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Add> Create(TensorFormat format = TensorFormat::kNHWC) const {
    return *CreateAdd(*context_, {.format = format, .dtype = GetParam()});
  }
  std::vector<Tensor> Inputs(size_t count, const Shape& shape) const {
    std::vector<Tensor> inputs;
    while (inputs.size() < count) {
      inputs.push_back(IntegerTensor(GetParam(), shape, inputs.size() + 1));
    }
    return inputs;
  }
  static Doubles Expected(const std::vector<Tensor>& inputs, Doubles y, bool accumulate) {
    std::vector<Doubles> values;
    for (const Tensor& x : inputs) values.push_back(Values(x));
    reference::Add(values, y, accumulate);
    return y;
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(AddTest, EqualsReferenceForEveryLengthAndNumberOfInputs) {
  for (const int64_t n : {1, 7, 8, 9, 15, 16, 17, 33, 1023, 1025, 40001}) {
    for (const size_t count : {1, 2, 3, 4, 9}) {
      for (const bool accumulate : {false, true}) {
        const std::vector<Tensor> inputs = Inputs(count, {n});
        const Tensor y = IntegerTensor(GetParam(), {n}, 99);
        const Doubles expected = Expected(inputs, Values(y), accumulate);
        ASSERT_TRUE(Create()->Run(inputs, y, accumulate).ok());
        EXPECT_EQ(Values(y), expected) << n << " elements, " << count << " inputs";
      }
    }
  }
}

TEST_P(AddTest, NaNInAnyInputComesOut) {
  for (const size_t count : {1, 2, 3, 5}) {
    for (size_t at = 0; at <= count; ++at) {  // the last: what y held
      std::vector<Tensor> inputs = Inputs(count, {1030});
      const Tensor nans = NaNTensor(GetParam(), {1030});
      Tensor y = ZeroTensor(GetParam(), {1030});
      (at == count ? y : inputs[at]) = nans;
      const Doubles expected = Values(nans);
      ASSERT_TRUE(Create()->Run(inputs, y, true).ok());
      EXPECT_TRUE(KeepsNaN(Values(y), expected)) << at << " of " << count;
    }
  }
}

TEST_P(AddTest, TheSumMayReplaceAnyInput) {
  for (const size_t count : {1, 2, 3, 5}) {
    for (size_t replaced = 0; replaced < count; ++replaced) {
      for (const bool accumulate : {false, true}) {
        const std::vector<Tensor> inputs = Inputs(count, {2000});
        const Doubles expected = Expected(inputs, Values(inputs[replaced]), accumulate);
        ASSERT_TRUE(Create()->Run(inputs, inputs[replaced], accumulate).ok());
        EXPECT_EQ(Values(inputs[replaced]), expected) << replaced << " of " << count;
      }
    }
  }
}

TEST_P(AddTest, PitchedAndDenseViewsMix) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const size_t count : {1, 2, 4}) {
      const Shape shape = {3, 5, 7, 6};
      std::vector<Tensor> inputs = Inputs(count, shape);
      const Doubles expected = Expected(inputs, Doubles(size_t(shape.NumElements())), false);
      inputs.back() = Pitched(inputs.back(), format);
      const Tensor dense = ZeroTensor(GetParam(), shape), y = Pitched(dense, format);
      ASSERT_TRUE(Create(format)->Run(inputs, y, false).ok());
      EXPECT_EQ(Values(y, format), expected);
      ASSERT_TRUE(Create(format)->Run(inputs, dense, false).ok());
      EXPECT_EQ(Values(dense), expected);
    }
  }
}

TEST_P(AddTest, SameBitsOnAnyNumberOfThreads) {
  const std::vector<Tensor> inputs = {RandomTensor(GetParam(), {100003}, 1),
                                      RandomTensor(GetParam(), {100003}, 2),
                                      RandomTensor(GetParam(), {100003}, 3)};
  Doubles first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor y = ZeroTensor(GetParam(), {100003});
    ASSERT_TRUE(Create()->Run(inputs, y, false).ok());
    if (first.empty()) first = Values(y);
    EXPECT_EQ(Values(y), first) << threads << " threads";
  }
}

TEST_P(AddTest, RefusesNoInputsAndOtherShapes) {
  const Tensor y = ZeroTensor(GetParam(), {4}), other[] = {ZeroTensor(GetParam(), {5})};
  EXPECT_EQ(Create()->Run({}, y, false).message(), "add: no inputs, expected at least one");
  const std::string type(Name(GetParam()));
  EXPECT_EQ(Create()->Run(other, y, false).message(), "add: an operand has shape (5,) of " + type +
                                                          " on cpu; expected (4,) of " + type +
                                                          " on cpu");
}

INSTANTIATE_TEST_SUITE_P(, AddTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
