#include "tensor/files/npy_text.h"

#include <cstring>
#include <span>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<std::string> Parse(std::string_view bytes) {
  const int64_t size = int64_t(bytes.size());
  const auto read = [&](std::span<std::byte> to) {
    std::memcpy(to.data(), bytes.data(), to.size());
    bytes.remove_prefix(to.size());
    return absl::OkStatus();
  };
  return ParseNpyText(read, size, "x.npy");
}

std::string ErrorOf(const std::string& bytes) {
  return std::string(Parse(bytes).status().message());
}

std::string File(std::string_view descr, const Shape& shape, std::string_view data) {
  return NpyHeaderBytes(descr, shape) + std::string(data);
}

TEST(NpyTextTest, EveryTextComesBack) {
  for (const std::string text : {"", "a", "NHWC", "größer", "日本", "\U0001f642", "\U0010ffff",
                                 "two\nlines", "\xed\x9f\xbf\xee\x80\x80"}) {
    const absl::StatusOr<std::string> bytes = SerializeNpyText(text, "x.npy");
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(bytes->find('\n') % 64, 63u);
    EXPECT_EQ(*Parse(*bytes), text);
  }
}

TEST(NpyTextTest, ReadsEitherByteOrderAndBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(*Parse(File("<U2", {}, "a\0\0\0\xfc\0\0\0"s)), "aü");
  EXPECT_EQ(*Parse(File(">U2", {}, "\0\0\0a\0\0\0\xfc"s)), "aü");
  EXPECT_EQ(*Parse(File("|S3", {1}, "ab\0"s)), "ab");
  EXPECT_EQ(*Parse(File("|S3", {}, "a\0b"s)), "a\0b"s);  // only what fills up is left away
  EXPECT_EQ(*Parse(File("<U0", {}, "")), "");
}

TEST(NpyTextTest, WhatIsNoSingleTextIsRefused) {
  EXPECT_THAT(ErrorOf(File("<f4", {}, "abcd")),
              AllOf(HasSubstr("x.npy"), HasSubstr("dtype \"<f4\", expected a text")));
  EXPECT_THAT(ErrorOf(File("|O", {}, "abcd")), HasSubstr("pickled objects are never loaded"));
  EXPECT_THAT(ErrorOf(File("|S2", {2}, "abcd")), HasSubstr("texts of shape (2,)"));
  EXPECT_THAT(ErrorOf(File("|S2", {0}, "")), HasSubstr("texts of shape (0,)"));
  EXPECT_THAT(ErrorOf(File("|S2", {1, 1}, "ab")), HasSubstr("texts of shape (1, 1)"));
  for (const char* descr : {"U2", "|U2", "<S2", "<U", "<U-2", "<U 2", "<U2x", "", "<", "|S"}) {
    EXPECT_THAT(ErrorOf(File(descr, {}, "abcdefgh")), HasSubstr("expected a text")) << descr;
  }
}

TEST(NpyTextTest, WidthsAreCheckedBeforeMemoryIsTaken) {
  EXPECT_THAT(ErrorOf(File("<U8388609", {}, "abcd")), HasSubstr("at most 8388608"));
  EXPECT_THAT(ErrorOf(File("<U8388608", {}, "abcd")),
              HasSubstr("(33554432 bytes) but 4 bytes follow it"));
  EXPECT_FALSE(Parse(File("<U99999999999999999999", {}, "abcd")).ok());
  EXPECT_THAT(ErrorOf(File("<U2", {}, "abcd")), HasSubstr("(8 bytes) but 4 bytes follow it"));
  EXPECT_THAT(ErrorOf(File("|S2", {}, "abcd")), HasSubstr("(2 bytes) but 4 bytes follow it"));
}

TEST(NpyTextTest, TheLongestTextComesBackAndALongerOneIsNotWritten) {
  std::string text(size_t{1} << 23, 'x');
  text.replace(0, 1, "日");
  const absl::StatusOr<std::string> bytes = SerializeNpyText(text, "x.npz/tag");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<std::string> back = Parse(*bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == text);
  EXPECT_EQ(SerializeNpyText(text + "x", "x.npz/tag").status(),
            absl::InvalidArgumentError("x.npz/tag: the text to write has 8388609 characters; at "
                                       "most 8388608 can be read again"));
}

TEST(NpyTextTest, OnlyUnicodeIsReadAndWritten) {
  EXPECT_THAT(ErrorOf(File("<U1", {}, std::string_view("\x00\xd8\x00\x00", 4))),
              HasSubstr("character 0 of its text (0xd800) is not valid Unicode"));
  EXPECT_FALSE(Parse(File("<U1", {}, std::string_view("\x00\x00\x11\x00", 4))).ok());
  for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "a\xff"}) {
    EXPECT_THAT(std::string(SerializeNpyText(text, "x.npz/tag").status().message()),
                HasSubstr("x.npz/tag: the text to write is not valid UTF-8"))
        << text;
  }
}

}  // namespace
}  // namespace dtnn
