#include "data/formats/matlab.h"

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "data/testing/matlab_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/rounding.h"

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

Bytes Join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The bytes of a number as the file has them.
template <typename T>
Bytes Raw(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// An element with its tag in eight bytes of its own.
Bytes Element(uint32_t type, const Bytes& data) {
  Bytes element = Join({Raw(type), Raw(uint32_t(data.size())), data});
  element.resize(RoundUp(element.size(), 8));
  return element;
}

// What an array begins with.
Bytes Head(uint32_t kind, const std::string& name = "", int32_t rows = 1) {
  return Join({Element(6, Join({Raw(kind), Raw(0u)})), Element(5, Join({Raw(rows), Raw(1)})),
               Element(1, Bytes(name.begin(), name.end()))});
}

Bytes File(const Bytes& elements) {
  Bytes file(124, ' ');
  return Join({file, {0, 1, 'I', 'M'}, elements});
}

// A file of the struct array "s" of one element with the field "f".
Bytes FileOf(const Bytes& value) {
  return File(Element(14, Join({Head(2, "s"), Element(5, Raw(4)), Element(1, {'f', 0, 0, 0}),
                                Element(14, value)})));
}

constexpr std::string_view kF[] = {"f"};

TEST(MatlabTest, NumbersOfEveryTypeAreRead) {
  const auto value = [](uint32_t type, const Bytes& data) {
    return ReadMatlabStructs(FileOf(Join({Head(6), Element(type, data)})), "a.mat", "s", kF)
        .value()[0][0];
  };
  EXPECT_EQ(value(1, Raw(int8_t{-3})), MatlabValue(-3.0));
  EXPECT_EQ(value(2, Raw(uint8_t{253})), MatlabValue(253.0));
  EXPECT_EQ(value(3, Raw(int16_t{-300})), MatlabValue(-300.0));
  EXPECT_EQ(value(4, Raw(uint16_t{65000})), MatlabValue(65000.0));
  EXPECT_EQ(value(5, Raw(int32_t{-70000})), MatlabValue(-70000.0));
  EXPECT_EQ(value(6, Raw(uint32_t{4000000000})), MatlabValue(4e9));
  EXPECT_EQ(value(7, Raw(0.5f)), MatlabValue(0.5));
  EXPECT_EQ(value(9, Raw(-1e300)), MatlabValue(-1e300));
  EXPECT_EQ(value(12, Raw(int64_t{-5000000000})), MatlabValue(-5e9));
  EXPECT_EQ(value(13, Raw(uint64_t{1} << 63)), MatlabValue(9223372036854775808.0));
}

TEST(MatlabTest, TextsOfEveryWidthAreRead) {
  const auto value = [](const Bytes& array) {
    return ReadMatlabStructs(FileOf(array), "a.mat", "s", kF).value()[0][0];
  };
  EXPECT_EQ(value(Join({Head(4), Element(1, {'a', 'b'})})), MatlabValue("ab"));
  EXPECT_EQ(value(Join({Head(4), Element(16, {'a', 'b', 'c'})})), MatlabValue("abc"));
  EXPECT_EQ(value(Join({Head(4), Element(4, {'a', 0, 127, 0, 128, 0, 'a', 1})})),
            MatlabValue("a\x7f??"));
  EXPECT_EQ(value(Head(4)), MatlabValue("")) << "no characters, as an empty text may be stored";
}

// Neither a number nor a text: they have no value here.
TEST(MatlabTest, OtherArraysHaveNoValue) {
  const Bytes two = Element(9, Join({Raw(1.0), Raw(2.0)}));
  for (const Bytes& array :
       {Bytes{}, Join({Head(6, "", 2), two}), Head(6, "", 0), Head(1), Head(5), Head(16)}) {
    const auto rows = ReadMatlabStructs(FileOf(array), "a.mat", "s", kF);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ((*rows)[0][0], MatlabValue());
  }
}

TEST(MatlabTest, DamageIsNamed) {
  const auto damaged = [](std::string_view what) {
    return "a.mat: " + std::string(what) + "; the file is damaged or truncated";
  };
  const auto error = [](const Bytes& file) { return Error(file, "s", kF); };
  const auto value = [&](const Bytes& array) { return error(FileOf(array)); };
  const auto array = [&](const Bytes& content) { return error(File(Element(14, content))); };
  EXPECT_EQ(value(Join({Head(6), Element(8, Raw(1.0))})),
            damaged("a number has no room for its value"));
  EXPECT_EQ(value(Join({Head(6), Element(9, Raw(1.0f))})),
            damaged("a number has no room for its value"));
  EXPECT_EQ(value(Join({Head(15), Element(2, {1, 2})})),
            damaged("a number has no room for its value"));
  EXPECT_EQ(value(Head(6)), damaged("an element has no room for its tag"));
  EXPECT_EQ(error(File(Join({Raw(5u << 16 | 14), Raw(0u)}))),
            damaged("a small element is too large"));
  EXPECT_EQ(error(File(Join({Raw(9u), Raw(1u)}))),
            damaged("an element is longer than what is left"));
  EXPECT_EQ(error(File(Element(15, {1, 2, 3}))),
            damaged("a compressed element cannot be unpacked"));
  EXPECT_EQ(array(Element(5, Raw(int64_t{2}))),
            damaged("the flags of an array has type 5, expected 6"));
  EXPECT_EQ(array(Element(6, Raw(2u))), damaged("the flags of an array are not 8 bytes"));
  const Bytes flags = Element(6, Raw(uint64_t{2}));
  EXPECT_EQ(array(Join({flags, Element(5, Raw(1))})),
            damaged("an array has fewer than two extents"));
  EXPECT_EQ(array(Join({flags, Element(5, Join({Raw(1), Raw(1), {0}}))})),
            damaged("an array has fewer than two extents"));
  EXPECT_EQ(array(Join({flags, Element(5, Join({Raw(1 << 30), Raw(1 << 30), Raw(1 << 30)}))})),
            damaged("the extents of an array are not possible"));
  for (const Bytes& length : {Element(5, Raw(0)), Element(5, Raw(4097)), Element(5, Raw(4l))}) {
    EXPECT_EQ(array(Join({Head(2, "s"), length})),
              damaged("the length of field names is not possible"));
  }
  EXPECT_EQ(array(Join({Head(2, "s"), Element(5, Raw(4096)), Element(1, Bytes(4095))})),
            damaged("a struct array has no fields"));
  EXPECT_EQ(array(Join({Head(2, "s"), Element(5, Raw(4)), Element(1, {'f', 0, 0, 0}),
                        Element(9, Raw(1.0))})),
            damaged("a field has type 9, expected 14"));
  EXPECT_EQ(array(Join({Head(6, "s"), Element(9, Raw(1.0))})),
            "a.mat: variable \"s\" is not a struct array");
}

TEST(MatlabTest, RowsAreLimited) {
  const auto rows = [](int32_t count) {
    Bytes content = Join({Head(2, "s", count), Element(5, Raw(4)), Element(1, {'f', 0, 0, 0})});
    const Bytes empty = Element(14, {});
    for (int32_t i = 0; i < count; ++i) content.insert(content.end(), empty.begin(), empty.end());
    return ReadMatlabStructs(File(Element(14, content)), "a.mat", "s", kF);
  };
  EXPECT_EQ(rows(131072)->size(), 131072u);
  EXPECT_EQ(rows(131073).status().message(),
            "a.mat: a struct array has more elements than fit; the file is damaged or truncated");
}

// Whatever else a file holds before it.
TEST(MatlabTest, OtherElementsStandBeforeIt) {
  const Bytes other = Element(14, Join({Head(6, "t"), Element(9, Raw(3.0))}));
  Bytes file = FileOf(Join({Head(6), Element(9, Raw(4.0))}));
  const Bytes before = Join({Element(9, Raw(2.0)), other, Join({Raw(1u << 16 | 2), Raw(0u)})});
  file.insert(file.begin() + 128, before.begin(), before.end());
  EXPECT_EQ(ReadMatlabStructs(file, "a.mat", "s", kF).value(), (Rows{{4.0}}));
}

}  // namespace
}  // namespace dtnn
