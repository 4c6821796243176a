#include "tensor/dtype.h"

#include <set>
#include <type_traits>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kUint8,   DType::kInt32,
                          DType::kInt64,   DType::kFloat16, DType::kBfloat16};

TEST(DTypeTest, EachHasAName) {
  std::set<std::string_view> names;
  for (DType dtype : kAll) names.insert({Name(dtype), ShortName(dtype)});
  EXPECT_EQ(names.size(), 2 * std::size(kAll));
  EXPECT_EQ(Name(DType::kFloat32), "float32");
  EXPECT_EQ(Name(DType::kUint8), "uint8");
}

template <typename T>
class DTypeOfTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, uint8_t, int32_t, int64_t, Float16, Bfloat16>;
TYPED_TEST_SUITE(DTypeOfTest, Types);

TYPED_TEST(DTypeOfTest, AgreesWithTheCppType) {
  constexpr DType dtype = DTypeOf<TypeParam>();
  EXPECT_EQ(SizeOf(dtype), sizeof(TypeParam));
  EXPECT_EQ(IsFloating(dtype), std::is_floating_point_v<TypeParam>);
  EXPECT_EQ(IsHalf(dtype), (!std::is_same_v<Wide<TypeParam>, TypeParam>));
  EXPECT_EQ(WideOf(dtype), DTypeOf<Wide<TypeParam>>());
}

template <typename T>
constexpr bool kHasDType = requires {
  DTypeOf<T>();
};

TEST(DTypeTest, OtherCppTypesHaveNone) {
  EXPECT_TRUE(kHasDType<float>);
  EXPECT_FALSE(kHasDType<int16_t>);
  EXPECT_FALSE(kHasDType<const float>);
}

TEST(DTypeTest, DispatchCallsWithTheMatchingType) {
  const auto size = [](auto zero) { return sizeof(zero); };
  EXPECT_EQ(DispatchFloating(DType::kFloat32, size), sizeof(float));
  EXPECT_EQ(DispatchFloating(DType::kFloat64, size), sizeof(double));
  const auto type = [](auto zero) { return DTypeOf<decltype(zero)>(); };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    EXPECT_EQ(DispatchGpuFloating(dtype, type), dtype);
  }
}

}  // namespace
}  // namespace dtnn
