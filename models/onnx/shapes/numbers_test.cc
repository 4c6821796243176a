#include "models/onnx/shapes/numbers.h"

#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/shapes/axes.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorValues Of(std::vector<int64_t> dims, std::vector<int64_t> numbers) {
  return {.dims = std::move(dims), .integers = std::move(numbers)};
}
std::string Error(const absl::StatusOr<WholeNumbers>& result) {
  return std::string(result.status().message());
}

TEST(ArithmeticTest, ABatchEqualsNoNumberBelowOne) {
  const auto equal = [](int64_t a, int64_t b) {
    return Arithmetic("Equal", {Of({}, {a})}, {Of({}, {b})});
  };
  EXPECT_THAT(Arithmetic("Equal", {Of({3}, {1, 2, 3})}, {Of({1}, {2})})->first.integers,
              ElementsAre(0, 1, 0));
  EXPECT_EQ(equal(kBatchExtent, kBatchExtent)->first.integers[0], 1);
  EXPECT_EQ(equal(BatchExtent(2), kBatchExtent)->first.integers[0], 0);
  for (const int64_t number : {-1, 0}) {
    EXPECT_EQ(equal(kBatchExtent, number)->first.integers[0], 0);
    EXPECT_EQ(equal(number, kBatchExtent)->first.integers[0], 0);
  }
  for (const int64_t number : {1, 3}) {
    EXPECT_THAT(Error(equal(kBatchExtent, number)), HasSubstr("the size of the batch"));
    EXPECT_THAT(Error(equal(number, kBatchExtent)), HasSubstr("the size of the batch"));
  }
  WholeNumbers of_samples = {Of({1}, {0})};
  of_samples.step = 1;
  EXPECT_NE(Error(Arithmetic("Equal", of_samples, {Of({1}, {0})})), "");
}

TEST(ArithmeticTest, AlignsAxesAtTheirEnds) {
  const auto sum = Arithmetic("Add", {Of({2, 1}, {10, 20})}, {Of({3}, {1, 2, 3})});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->first.dims, ElementsAre(2, 3));
  EXPECT_THAT(sum->first.integers, ElementsAre(11, 12, 13, 21, 22, 23));
  const auto product = Arithmetic("Mul", {Of({}, {3})}, {Of({1, 2}, {4, 5})});
  EXPECT_THAT(product->first.dims, ElementsAre(1, 2));
  EXPECT_THAT(product->first.integers, ElementsAre(12, 15));
  EXPECT_THAT(Arithmetic("Div", {Of({}, {7})}, {Of({}, {2})})->first.integers, ElementsAre(3));
  EXPECT_THAT(Error(Arithmetic("Sub", {Of({2}, {1, 2})}, {Of({3}, {1, 2, 3})})),
              HasSubstr("has inputs of different sizes: (2) and (3)"));
  EXPECT_THAT(Error(Arithmetic("Add", {Of({1}, {kBatchExtent})}, {Of({1}, {1})})),
              HasSubstr("the size of the batch"));
  const auto batches = [](const char* type, int64_t a, int64_t b) {
    return Arithmetic(type, {Of({}, {a})}, {Of({}, {b})});
  };
  EXPECT_EQ(batches("Mul", 6, kBatchExtent)->first.integers[0], BatchExtent(6));
  EXPECT_EQ(batches("Mul", BatchExtent(6), 2)->first.integers[0], BatchExtent(12));
  EXPECT_EQ(batches("Div", BatchExtent(6), 2)->first.integers[0], BatchExtent(3));
  EXPECT_EQ(batches("Div", BatchExtent(6), 6)->first.integers[0], kBatchExtent);
  for (const auto& [type, a, b] :
       {std::tuple("Div", BatchExtent(6), int64_t{4}), std::tuple("Div", int64_t{6}, kBatchExtent),
        std::tuple("Mul", kBatchExtent, kBatchExtent), std::tuple("Mul", kBatchExtent, int64_t{-1}),
        std::tuple("Mul", BatchExtent(2), kMostTimes),
        std::tuple("Mod", BatchExtent(6), int64_t{2})}) {
    EXPECT_THAT(Error(batches(type, a, b)), HasSubstr("the size of the batch")) << type << a << b;
  }
  EXPECT_THAT(Error(Arithmetic("Pow", {Of({1}, {2})}, {Of({1}, {1})})),
              HasSubstr("a power of whole numbers"));
  const std::vector<int64_t> ones(kMostImageAxes + 1, 1);
  EXPECT_THAT(Error(Arithmetic("Add", {Of(ones, {1})}, {Of({}, {1})})),
              HasSubstr("computes with constants of 17 axes"));
  std::vector<int64_t> many(1 << 12);
  EXPECT_THAT(Error(Arithmetic("Add", {Of({1 << 12, 1}, many)}, {Of({1 << 12}, many)})),
              HasSubstr("computes 16777216 numbers, more than 4194304"));
}

TEST(ArithmeticTest, OfRealNumbersAndRemainders) {
  const auto real = [](float value) {
    return WholeNumbers{{.type = OnnxType::kFloat32, .reals = {value}}};
  };
  EXPECT_THAT(Arithmetic("Pow", real(4), real(-0.5))->first.reals, ElementsAre(0.5F));
  EXPECT_THAT(Arithmetic("Div", real(1), real(4))->first.reals, ElementsAre(0.25F));
  EXPECT_THAT(Error(Arithmetic("Mod", real(4), real(3))), HasSubstr("with real constants"));
  EXPECT_THAT(Error(Arithmetic("Mul", real(4), {Of({}, {3})})), HasSubstr("whole and real"));
  const auto rest = [](int64_t a, int64_t b) {
    return Arithmetic("Mod", {Of({}, {a})}, {Of({}, {b})})->first.integers[0];
  };
  EXPECT_EQ(rest(2, 3), 2);
  EXPECT_EQ(rest(-1, 3), 2);
  EXPECT_EQ(rest(4, -3), -2);
  EXPECT_EQ(rest(-6, 3), 0);
}

TEST(ArithmeticTest, OfSamplesIsAProductAndSums) {
  const WholeNumbers counted = *RangeOf(0, kBatchExtent, 1);
  EXPECT_EQ(counted.step, 1);
  auto numbers = Arithmetic("Mul", {Of({}, {6})}, counted);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  numbers->first.dims = {1, 1, 1};  // (n, 1, 1)
  numbers = Arithmetic("Add", *numbers, {Of({1, 3, 2}, {0, 1, 2, 3, 4, 5})});
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->step, 6);
  EXPECT_THAT(numbers->first.dims, ElementsAre(1, 3, 2));
  EXPECT_THAT(numbers->first.integers, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(Arithmetic("Sub", {Of({}, {6})}, *numbers)->step, -6);
  EXPECT_THAT(Error(Arithmetic("Sub", *numbers, *numbers)), HasSubstr("the same for each sample"));
  EXPECT_THAT(Error(Arithmetic("Mul", *numbers, {Of({}, {0})})), HasSubstr("the same for each"));
  for (const auto& other : {Of({2, 1, 1}, {1, 2}), Of({1, 1, 1, 1}, {1})}) {
    EXPECT_THAT(Error(Arithmetic("Add", *numbers, {other})), HasSubstr("others along their batch"));
  }
  EXPECT_THAT(Error(Arithmetic("Mul", *numbers, {Of({2}, {1, 2})})),
              HasSubstr("they may be multiplied by one number"));
  EXPECT_THAT(Error(Arithmetic("Div", *numbers, {Of({}, {1})})), HasSubstr("multiplied by one"));
  EXPECT_THAT(Error(Arithmetic("Mul", *numbers, *numbers)), HasSubstr("multiplied by one number"));
}

TEST(RangeTest, CountsUpAndDown) {
  EXPECT_THAT(RangeOf(1, 8, 3)->first.integers, ElementsAre(1, 4, 7));
  EXPECT_THAT(RangeOf(3, 0, -2)->first.integers, ElementsAre(3, 1));
  EXPECT_THAT(RangeOf(3, 0, 1)->first.integers, ElementsAre());
  EXPECT_THAT(Error(RangeOf(0, 1, 0)), HasSubstr("in steps of 0"));
  EXPECT_THAT(Error(RangeOf(0, 1 << 23, 1)), HasSubstr("counts 8388608 numbers"));
  EXPECT_THAT(Error(RangeOf(0, INT64_MAX, 1)), HasSubstr("has numbers above 2^40"));
  EXPECT_THAT(Error(RangeOf(1, kBatchExtent, 1)), HasSubstr("the size of the batch"));
  EXPECT_THAT(Error(RangeOf(0, kBatchExtent, 2)), HasSubstr("the size of the batch"));
}

}  // namespace
}  // namespace dtnn
