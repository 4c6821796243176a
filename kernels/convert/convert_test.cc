#include "kernels/convert/convert.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/convert/reference.h"

namespace dtnn {
namespace {

template <typename T>
class ConvertBytesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConvertBytesTest, Types);

TYPED_TEST(ConvertBytesTest, EveryByteGetsItsValue) {
  std::vector<uint8_t> from(256);
  std::iota(from.begin(), from.end(), 0);
  std::vector<TypeParam> to(256, TypeParam(-1));
  ConvertBytes(from, TypeParam(1), to);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(to[i], TypeParam(i));
}

TYPED_TEST(ConvertBytesTest, EqualsReferenceAtEveryLengthAndAlignment) {
  constexpr TypeParam kGuard = -7;
  const TypeParam scale = TypeParam(1) / 255;
  std::vector<uint8_t> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * 151 + 17);
  for (size_t count = 0; count <= 130; ++count) {
    for (size_t offset : {0, 1, 3, 16}) {
      std::vector<TypeParam> expected(count);
      reference::ConvertBytes<TypeParam>({bytes.data() + offset, count}, scale, expected);
      std::vector<TypeParam> actual(offset + count + 1, kGuard);
      ConvertBytes(std::span<const uint8_t>(bytes).subspan(offset, count), scale,
                   std::span<TypeParam>(actual).subspan(offset, count));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(actual[offset + i], expected[i]) << "count " << count << " element " << i;
      }
      for (size_t i = 0; i < offset; ++i) ASSERT_EQ(actual[i], kGuard) << "before the range";
      ASSERT_EQ(actual[offset + count], kGuard) << "after the range of " << count;
    }
  }
}

}  // namespace
}  // namespace dtnn
