#include "tensor/dtype.h"

#include <type_traits>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32,
                          DType::kInt64};

TEST(DTypeTest, NamesAreParsedBack) {
  for (DType dtype : kAll) EXPECT_EQ(ParseDType(Name(dtype)), dtype) << Name(dtype);
  EXPECT_EQ(Name(DType::kFloat32), "float32");
  EXPECT_EQ(Name(DType::kUint8), "uint8");
}

TEST(DTypeTest, OtherWordsAreNoDType) {
  for (std::string_view word : {"", "float", "float16", "Float32", "float32 ", "?"}) {
    EXPECT_EQ(ParseDType(word), std::nullopt) << word;
  }
}

template <typename T>
class DTypeOfTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(DTypeOfTest, Types);

TYPED_TEST(DTypeOfTest, AgreesWithTheCppType) {
  constexpr DType dtype = DTypeOf<TypeParam>();
  EXPECT_EQ(SizeOf(dtype), sizeof(TypeParam));
  EXPECT_EQ(IsFloating(dtype), std::is_floating_point_v<TypeParam>);
}

TEST(DTypeTest, DispatchCallsWithTheMatchingType) {
  const auto size = [](auto zero) { return sizeof(zero); };
  EXPECT_EQ(DispatchFloating(DType::kFloat32, size), sizeof(float));
  EXPECT_EQ(DispatchFloating(DType::kFloat64, size), sizeof(double));
}

}  // namespace
}  // namespace dtnn
