#include "data/files/crc32c.h"

#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

uint32_t Of(std::string_view text) {
  return Crc32c(std::vector<uint8_t>(text.begin(), text.end()));
}

// The check value of the algorithm's catalogue, and those of RFC 3720, appendix B.4.
TEST(Crc32cTest, PublishedValues) {
  EXPECT_EQ(Of("123456789"), 0xe3069283u);
  EXPECT_EQ(Of(""), 0u);
  EXPECT_EQ(Crc32c(std::vector<uint8_t>(32, 0)), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<uint8_t>(32, 0xff)), 0x62a8ab43u);
  std::vector<uint8_t> ascending;
  for (uint8_t i = 0; i < 32; ++i) ascending.push_back(i);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
}

}  // namespace
}  // namespace dtnn
