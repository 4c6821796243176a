#include "comm/federation/messages.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::vector<std::string>& names) {
  const Classes classes = {.outputs = 2, .names = names};
  const absl::Status read = ClassesFromBytes(ToBytes(classes)).status();
  EXPECT_EQ(CheckClasses(classes).ok(), read.ok());
  return std::string(read.message());
}

TEST(MessagesTest, NamesOfClassesArriveAsTheyAre) {
  const Classes sent = {.outputs = 2, .names = {"gr\xc3\xbcn", std::string(255, 'x')}};
  const absl::StatusOr<Classes> read = ClassesFromBytes(ToBytes(sent));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->names, sent.names);
}

// They are printed to terminals.
TEST(MessagesTest, NamesOfClassesAreText) {
  for (const char* name : {"", "\x1b[2J", "\x7f",
                           "\xc2\x9b"
                           "2J",
                           "\x9b"
                           "2J",
                           "gr\xfcn"}) {
    EXPECT_THAT(Refusal({"a", name}), HasSubstr("expected UTF-8 text of 1 to 255 bytes")) << name;
  }
}

// No client could match its classes.
TEST(MessagesTest, NamesOfClassesAreDistinct) {
  EXPECT_EQ(Refusal({"a", "a"}), "classes: the class name \"a\" appears twice");
}

TEST(MessagesTest, NamesOfClassesFillOneMessageAtMost) {
  Classes classes = {.outputs = 65536};
  for (int i = 0; i < 65536; ++i) {
    const std::string number = std::to_string(i);
    classes.names.push_back(number + std::string(62 - number.size(), 'n'));
  }
  classes.names.back().resize(54);
  EXPECT_EQ(ToBytes(classes).size(), 4194304u);
  EXPECT_EQ(CheckClasses(classes), absl::OkStatus());
  classes.names.back() += 'n';
  EXPECT_EQ(CheckClasses(classes).message(),
            "the names of 65536 classes have 4194305 bytes; a federation takes 4194304 at most");
}

}  // namespace
}  // namespace dtnn::federation
