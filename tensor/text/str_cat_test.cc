#include "tensor/text/str_cat.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(StrCatTest, JoinsTextsOfAllKindsAndNumbers) {
  const std::string a = "a";
  const std::string_view b = "bc";
  EXPECT_EQ(StrCat(a, b.substr(1), absl::string_view("d"), "e", 1, 2.5, absl::Hex(255)),
            "acde12.5ff");
  EXPECT_EQ(StrCat(), "");
}

TEST(StrCatTest, AppendsInPlace) {
  std::string text = "a";
  StrAppend(&text, std::string_view("b"), 1);
  EXPECT_EQ(text, "ab1");
}

}  // namespace
}  // namespace dtnn
