#include "tensor/files/safetensors_header.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

absl::StatusOr<SafetensorsHeader> Parse(std::string_view json, int64_t bytes) {
  return ParseSafetensorsHeader(json, bytes, "x.safetensors");
}
std::string ErrorOf(std::string_view json, int64_t bytes) {
  return std::string(Parse(json, bytes).status().message());
}

// A tensor "w" of 8 bytes with one of its fields replaced.
std::string With(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(SafetensorsHeaderTest, ReadsTensorsInTheOrderOfTheirBytesAndTexts) {
  const absl::StatusOr<SafetensorsHeader> header = Parse(
      R"({"b":{"data_offsets":[8,12],"shape":[4],"dtype":"U8"},
          "__metadata__":{"format":"pt","gr\u00f6\u00dfer":"\"\n"},
          "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
          "none":{"dtype":"I64","shape":[0,7],"data_offsets":[12,12]},
          "scalar":{"dtype":"F64","shape":[],"data_offsets":[12,20]}}   )",
      20);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->entries.size(), 4u);
  EXPECT_EQ(header->entries[0].name, "a");
  EXPECT_EQ(header->entries[0].dtype, "F32");
  EXPECT_THAT(header->entries[0].shape, ElementsAre(2, 1));
  EXPECT_EQ(header->entries[1].name, "b");
  EXPECT_EQ(header->entries[1].begin, 8);
  EXPECT_EQ(header->entries[1].end, 12);
  EXPECT_EQ(header->entries[2].name, "none");
  EXPECT_EQ(header->entries[3].name, "scalar");
  EXPECT_THAT(header->metadata, ElementsAre(Pair("format", "pt"), Pair("größer", "\"\n")));
}

TEST(SafetensorsHeaderTest, WhatIsWrittenIsRead) {
  const SafetensorsHeader header = {
      .entries = {{"a \"quoted\" \\ name", "F32", {2, 3}, 0, 24}, {"größer", "U8", {}, 24, 25}},
      .metadata = {{"tab", "\t\x01"}, {"", ""}}};
  const absl::StatusOr<SafetensorsHeader> back = Parse(FormatSafetensorsHeader(header), 25);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->entries.size(), 2u);
  EXPECT_EQ(back->entries[0].name, header.entries[0].name);
  EXPECT_EQ(back->entries[1].name, header.entries[1].name);
  EXPECT_THAT(back->entries[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(back->metadata, header.metadata);
  EXPECT_TRUE(Parse(FormatSafetensorsHeader({}), 0).ok());
}

TEST(SafetensorsHeaderTest, OtherJsonIsRefusedForTheRightReason) {
  const std::map<std::string, std::string> kReasons = {
      {"", "no JSON object"},
      {" {}", "no JSON object"},
      {"[]", "no JSON object"},
      {"{", "no valid JSON at byte"},
      {"{} x", "no valid JSON at byte"},
      {"{\"a\":\"\xff\"}", "no valid JSON at byte"},
      {R"({"w":3})", "a number where it does not belong, after the key \"w\""},
      {R"({"w":"x"})", "a text where"},
      {R"({"w":[1]})", "a list where"},
      {R"({"shape":[1]})", "a list where"},
      {R"({"w":null})", "null where"},
      {R"({"w":true})", "true or false where"},
      {R"({"w":{}})", "no dtype, shape and data_offsets for tensor \"w\""},
      {R"({"w":{"dtype":{"dtype":{}}}})", "an object where none belongs"},
      {R"({"w":{"shape":[{}]}})", "an object where none belongs"},
      {R"({"__metadata__":{"a":{}}})", "an object where none belongs"},
      {R"({"__metadata__":{"a":1}})", "a number where"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "the key \"a\" twice"},
      {R"({"__metadata__":{"shape":[1]}})", "a list where"},
      {R"({"__metadata__":{},"__metadata__":{}})", "the key \"__metadata__\" twice"},
      {R"({"w":{"dtype":"F32","dtype":"F32"}})", "the key \"dtype\" twice"},
      {R"({"w":{"other":"F32"}})", "no dtype, shape and data_offsets for tensor \"w\""},
      {R"({"w":{"other":[{"dtype":"F32","shape":[2],"data_offsets":[0,8]}]}})",
       "no dtype, shape and data_offsets for tensor \"w\""},
      {std::string("{}\0", 3), "a NUL at byte 2"},
      {std::string("{}\0{\"w\"", 7), "a NUL at byte 2"},
      {std::string("{\"a\0\":{}}", 9), "a NUL at byte 3"},
      {With("3", "[2]", "[0,8]"), "a number where"},
      {With("\"F32\"", "[-2]", "[0,8]"), "a negative number"},
      {With("\"F32\"", "[2.0]", "[0,8]"), "not whole"},
      {With("\"F32\"", "[99999999999999999999]", "[0,8]"), "not whole or too large"},
      {With("\"F32\"", "[9223372036854775808]", "[0,8]"), "a number beyond 63 bits"},
      {With("\"F32\"", "[[2]]", "[0,8]"), "a list where"},
      {With("\"F32\"", "[2]", "[0]"), "data_offsets that are not a pair"},
      {With("\"F32\"", "[2]", "[0,8,8]"), "data_offsets that are not a pair"},
      {With("\"F32\"", "[2]", "[]"), "data_offsets that are not a pair"},
  };
  for (const auto& [json, reason] : kReasons) {
    EXPECT_THAT(ErrorOf(json, 8),
                AllOf(StartsWith("x.safetensors: its header has "), HasSubstr(reason)))
        << json;
  }
}

TEST(SafetensorsHeaderTest, TakesWhatTheFormatsOwnLibraryTakes) {
  const absl::StatusOr<SafetensorsHeader> header = Parse(
      R"({"__metadata__":null,
          "w":{"a":null,"dtype":"F32","b":[1,[-2,{"shape":[3]}],2.5,true],"shape":[2],
               "c":{"dtype":{"dtype":"U8"},"d":[]},"data_offsets":[0,8],"e":"x","e":-1}})",
      8);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->entries.size(), 1u);
  EXPECT_EQ(header->entries[0].dtype, "F32");
  EXPECT_THAT(header->entries[0].shape, ElementsAre(2));
  EXPECT_TRUE(header->metadata.empty());
}

TEST(SafetensorsHeaderTest, DepthCostsNothing) {
  std::string ignored = "{\"w\":{\"x\":";
  for (int i = 0; i < 100000; ++i) ignored += "[{\"a\":";
  EXPECT_THAT(ErrorOf(ignored, 8), HasSubstr("no valid JSON at byte"));
  EXPECT_FALSE(Parse("{\"a\":" + std::string(1000000, '['), 8).ok());
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_THAT(ErrorOf(deep, 8), HasSubstr("no valid JSON at byte"));
}

TEST(SafetensorsHeaderTest, ATensorsBytesAreThoseOfItsShapeInsideTheFile) {
  EXPECT_TRUE(Parse(With("\"F32\"", "[2]", "[0,8]"), 8).ok());
  const auto error = [](const char* dtype, const char* shape, const char* offsets) {
    return ErrorOf(With(dtype, shape, offsets), 8);
  };
  EXPECT_TRUE(Parse(With("\"C64\"", "[1]", "[0,8]"), 8).ok());
  EXPECT_TRUE(Parse(With("\"F4\"", "[2,8]", "[0,8]"), 8).ok());
  EXPECT_THAT(error("\"F4\"", "[15]", "[0,8]"), HasSubstr("does not fill its last byte"));
  EXPECT_THAT(error("\"F8_E8M0\"", "[7]", "[0,8]"), HasSubstr("of 7 bytes"));
  // A type that is not known here must be inside the file and overlap none, as all others.
  EXPECT_TRUE(Parse(With("\"F99\"", "[2]", "[0,8]"), 8).ok());
  EXPECT_THAT(error("\"F99\"", "[2]", "[0,9]"), HasSubstr("bytes 0 to 9 of 8"));
  EXPECT_THAT(error("\"F32\"", "[3]", "[0,8]"),
              HasSubstr("tensor \"w\" of 12 bytes by its shape and dtype (F32) has 8"));
  EXPECT_THAT(error("\"F32\"", "[3]", "[0,12]"), HasSubstr("bytes 0 to 12 of 8"));
  EXPECT_THAT(error("\"F32\"", "[2]", "[8,0]"), HasSubstr("bytes 8 to 0 of 8"));
  EXPECT_THAT(error("\"F32\"", "[9223372036854775807]", "[0,8]"), HasSubstr("63 bits"));
  EXPECT_THAT(error("\"F32\"", "[4294967296,2147483648]", "[0,8]"), HasSubstr("63 bits"));
  // 2^64 + 8 bytes, which wraps to 8.
  EXPECT_THAT(error("\"U8\"", "[2305843009213693953,8]", "[0,8]"), HasSubstr("63 bits"));
}

// As the format defines them.
TEST(SafetensorsHeaderTest, EveryTypeHasItsSize) {
  const std::pair<int, std::vector<std::string>> bits_of[] = {
      {4, {"F4"}},
      {6, {"F6_E2M3", "F6_E3M2"}},
      {8, {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}},
      {16, {"I16", "U16", "F16", "BF16"}},
      {32, {"I32", "U32", "F32"}},
      {64, {"I64", "U64", "F64", "C64"}}};
  for (const auto& [bits, names] : bits_of) {
    const std::string offsets = "[0," + std::to_string(bits) + "]";  // of eight elements
    for (const std::string& name : names) {
      EXPECT_TRUE(Parse(With("\"" + name + "\"", "[8]", offsets), bits).ok()) << name;
      EXPECT_FALSE(Parse(With("\"" + name + "\"", "[16]", offsets), bits).ok()) << name;
    }
  }
}

TEST(SafetensorsHeaderTest, BytesBelongToExactlyOneTensor) {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_TRUE(Parse(two("[4,8]", "[0,4]"), 8).ok());
  EXPECT_THAT(ErrorOf(two("[0,4]", "[0,4]"), 8), HasSubstr("inside the tensor before it"));
  EXPECT_THAT(ErrorOf(two("[0,4]", "[3,7]"), 8), HasSubstr("\"b\" begins at byte 3, inside"));
  EXPECT_THAT(ErrorOf(two("[0,4]", "[5,9]"), 9), HasSubstr("after bytes that belong to no tensor"));
  EXPECT_THAT(ErrorOf(two("[1,5]", "[5,9]"), 9), HasSubstr("after bytes that belong to no tensor"));
  EXPECT_THAT(ErrorOf(two("[0,4]", "[4,8]"), 9), HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(ErrorOf("{}", 1), HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                          "a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                      8),
              HasSubstr("the key \"a\" twice"));
}

}  // namespace
}  // namespace dtnn
