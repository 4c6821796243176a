#include "tensor/named_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr struct {
  std::string_view name;
  int value;
} kTable[] = {{"one", 1}, {"twelve", 12}};

TEST(NamedTableTest, FindsAnEntry) {
  EXPECT_EQ((*FindNamed(kTable, "number", "twelve"))->value, 12);
}

TEST(NamedTableTest, AnotherNameIsAnsweredWithTheNames) {
  EXPECT_THAT(NamesIn(kTable), ::testing::ElementsAre("one", "twelve"));
  EXPECT_EQ(FindNamed(kTable, "number", "six").status(),
            absl::NotFoundError("unknown number \"six\"; must be one of: one, twelve"));
  EXPECT_EQ(
      FindNamed(kTable, "number", "twelv").status(),
      absl::NotFoundError("unknown number \"twelv\"; must be one of: one, twelve; did you mean "
                          "\"twelve\"?"));
  EXPECT_EQ(FindNamed(kTable, "number", "\x1b[2J").status(),
            absl::NotFoundError("unknown number \"\\x1b[2J\"; must be one of: one, twelve"));
}

}  // namespace
}  // namespace dtnn
