#include "data/formats/matlab.h"

#include "data/testing/matlab_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;
using Rows = std::vector<std::vector<MatlabValue>>;

const testing::MatlabStructs kStructs = {
    "things",
    {"id", "name", "other"},
    {{7.0, "first", 0.0}, {40000.0, "", 0.0}, {-2.5, "a, longer text", 1e300}}};

constexpr std::string_view kFields[] = {"name", "id"};

std::string Error(const Bytes& bytes, std::string_view variable = "things",
                  std::span<const std::string_view> fields = kFields) {
  return std::string(ReadMatlabStructs(bytes, "a.mat", variable, fields).status().message());
}

TEST(MatlabTest, NumbersAndTextsOfTheFieldsAsked) {
  for (const bool compressed : {false, true}) {
    const auto rows =
        ReadMatlabStructs(testing::MatlabBytes(kStructs, compressed), "a.mat", "things", kFields);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(*rows, (Rows{{"first", 7.0}, {"", 40000.0}, {"a, longer text", -2.5}}));
  }
}

TEST(MatlabTest, WhatIsMissingIsNamed) {
  const Bytes bytes = testing::MatlabBytes(kStructs, true);
  EXPECT_EQ(Error(bytes, "stuff"), "a.mat: contains no variable \"stuff\"");
  constexpr std::string_view kOther[] = {"id", "weight"};
  EXPECT_EQ(Error(bytes, "things", kOther), "a.mat: variable \"things\" has no field \"weight\"");
  EXPECT_EQ(Error(Bytes(200, 'x')), "a.mat: is not a MATLAB 5 file of little-endian numbers");
}

TEST(MatlabTest, EveryCutIsRefused) {
  for (const bool compressed : {false, true}) {
    const Bytes bytes = testing::MatlabBytes(kStructs, compressed);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(Error(Bytes(bytes.begin(), bytes.begin() + long(size))), HasSubstr("a.mat: "))
          << size;
    }
  }
}

TEST(MatlabTest, ElementsUnpackToSixteenMegabytesAtMost) {
  testing::MatlabStructs structs = {"things", {"id", "name"}, {{7.0, std::string()}}};
  const auto read = [&](size_t characters) {
    std::get<std::string>(structs.rows[0][1]) = std::string(characters, 'x');
    return Error(testing::MatlabBytes(structs, true));
  };
  // A character has two bytes; the rest of the element is what an uncompressed file has.
  const size_t rest = testing::MatlabBytes(structs, false).size() - 128;
  const size_t most = ((size_t{1} << 24) - rest) / 2 / 4 * 4;
  EXPECT_EQ(read(most - 4), "");
  EXPECT_THAT(read(most + 8), HasSubstr("an element unpacks to more than 16777216 bytes"));
}

TEST(MatlabTest, ElementsBeyondTheFileAreRefused) {
  Bytes bytes = testing::MatlabBytes(kStructs, false);
  const size_t extents = 128 + 8 + 16 + 8;  // behind the tags of array, flags and extents
  bytes[extents + 3] = 0x7f;
  EXPECT_THAT(Error(bytes), HasSubstr("a struct array has more elements than fit"));
  bytes[extents + 3] = 0xff;
  EXPECT_THAT(Error(bytes), HasSubstr("the extents of an array are not possible"));
}

}  // namespace
}  // namespace dtnn
