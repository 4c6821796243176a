#include "tensor/files/npy_header.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::StatusOr<NpyHeader> Parse(std::string_view text) { return ParseNpyDictionary(text, "x.npy"); }

std::string ErrorOf(std::string_view text) { return std::string(Parse(text).status().message()); }

TEST(NpyHeaderTest, ReadsWhatNumpyWrites) {
  const NpyHeader header =
      *Parse("{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }     \n");
  EXPECT_EQ(header.dtype, DType::kFloat64);
  EXPECT_EQ(header.item_size, 8u);
  EXPECT_TRUE(header.big_endian);
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.shape, (Shape{3, 4}));
  EXPECT_EQ(header.data_bytes(), 96);
}

TEST(NpyHeaderTest, OrderOfKeysBlanksAndQuotesAreFree) {
  for (const char* text : {"{'shape':(2L,),'descr':'<i2','fortran_order':False}",
                           "{\"fortran_order\" :False , 'shape': ( 2L , ) ,\t\"descr\":\"<i2\"}\n",
                           " { 'shape' : (2,) , 'descr' : '<i2' , 'fortran_order' : False , } "}) {
    const absl::StatusOr<NpyHeader> header = Parse(text);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->dtype, DType::kInt32);
    EXPECT_EQ(header->item_size, 2u);
    EXPECT_EQ(header->shape, Shape{2});
  }
}

TEST(NpyHeaderTest, KnowsTheseTypesAndNoOthers) {
  const auto type = [](const std::string& descr) {
    return Parse("{'descr': '" + descr + "', 'fortran_order': False, 'shape': ()}");
  };
  for (auto [descr, dtype] : {std::pair("<f4", DType::kFloat32),
                              {">f8", DType::kFloat64},
                              {"|u1", DType::kUint8},
                              {"|b1", DType::kInt32},
                              {"|i1", DType::kInt32},
                              {"<i2", DType::kInt32},
                              {">u2", DType::kInt32},
                              {"<u4", DType::kInt64},
                              {">u8", DType::kInt64},
                              {">i4", DType::kInt32},
                              {"<i8", DType::kInt64}}) {
    EXPECT_EQ(type(descr)->dtype, dtype) << descr;
  }
  for (const char* descr :
       {"|f2", "|b8", "<c8", "|u4", "<g16", "|f4", "f4", "u1", "<M8[s]", "<f44", ""}) {
    const absl::Status status = type(descr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << descr;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + std::string(descr) + "\""));
  }
  EXPECT_THAT(std::string(type("<U5").status().message()), HasSubstr("\"<U5\" (text)"));
}

TEST(NpyHeaderTest, NeverLoadsObjects) {
  for (const char* descr : {"|O", "O", "|O8"}) {
    const std::string text =
        "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,)}";
    EXPECT_THAT(ErrorOf(text), HasSubstr("pickled objects are never loaded"));
    EXPECT_EQ(Parse(text).status().code(), absl::StatusCode::kUnimplemented);
  }
}

TEST(NpyHeaderTest, RefusesEverythingButTheDictionary) {
  const struct {
    const char *text, *error;
  } kCases[] = {
      {"", "not a dictionary"},
      {"[]", "not a dictionary"},
      {"{}", "no key \"descr\""},
      {"{'descr': '<f4', 'shape': ()}", "no key \"fortran_order\""},
      {"{'descr': '<f4', 'fortran_order': False}", "no key \"shape\""},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "two keys"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "unknown key \"x\""},
      {"{'descr': '<f4", "'descr' is not a text"},
      {"{'descr': {'a': 1}, 'fortran_order': False, 'shape': ()}", "'descr' is not a text"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "structured dtype"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,3", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0x10,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "negative extent"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "63 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", "63 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1)}", "at most 6"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", "not a dictionary at"},
      {"{'descr', '<f4'}", "not a dictionary at"},
      {"{'de\\x73cr': '<f4', 'fortran_order': False, 'shape': ()}", "not a dictionary at"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", "not a dictionary at"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} + x", "continues with"},
  };
  for (const auto& [text, error] : kCases) {
    EXPECT_THAT(ErrorOf(text), AllOf(StartsWith("x.npy: "), HasSubstr(error))) << text;
  }
}

TEST(NpyHeaderTest, PreambleKnowsThreeVersions) {
  const auto preamble = [](const std::string& tail) {
    return ParseNpyPreamble("\x93NUMPY" + tail, "x.npy");
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(preamble("\1\0\x76\1{'"s)->header_size, 0x176u);
  EXPECT_EQ(preamble("\1\0\x76\0{'"s)->size, 10u);
  EXPECT_EQ(preamble("\2\0\x74\1\0\0"s)->header_size, 0x174u);
  EXPECT_EQ(preamble("\3\0\x74\0\0\0"s)->size, 12u);
  for (const std::string& tail : {"\0\0\1\0{'"s, "\1\1\1\0{'"s, "\4\0\1\0\0\0"s}) {
    EXPECT_EQ(preamble(tail).status().code(), absl::StatusCode::kUnimplemented);
  }
  EXPECT_THAT(std::string(preamble("\2\0\xff\xff\xff\xff"s).status().message()),
              HasSubstr("claims 4294967295 bytes"));
  EXPECT_EQ(preamble("\2\0\xff\xff\0\0"s)->header_size, 65535u);
  EXPECT_THAT(std::string(preamble("\2\0\0\0\1\0"s).status().message()),
              HasSubstr("claims 65536 bytes"));
  for (const std::string& tail : {""s, "\1\0\1"s, "\2\0\1\0\0"s}) {
    EXPECT_FALSE(preamble(tail).ok());
  }
  EXPECT_FALSE(ParseNpyPreamble("PK\3\4 12345678", "x.npy").ok());
}

TEST(NpyHeaderTest, WhatIsWrittenIsPaddedAndReadBack) {
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32, DType::kInt64}) {
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{0, 3}, Shape{1000000, 100000, 1, 12345, 12, 1}}) {
      const std::string bytes = NpyHeaderBytes(dtype, shape);
      EXPECT_EQ(bytes.size() % 64, 0u);
      EXPECT_EQ(bytes.back(), '\n');
      const NpyPreamble preamble = *ParseNpyPreamble(bytes, "x.npy");
      ASSERT_EQ(preamble.size + preamble.header_size, bytes.size());
      const NpyHeader header = *Parse(std::string_view(bytes).substr(preamble.size));
      EXPECT_EQ(header.dtype, dtype);
      EXPECT_EQ(header.item_size, SizeOf(dtype));
      EXPECT_EQ(header.shape, shape);
      EXPECT_FALSE(header.fortran_order || header.big_endian);
    }
  }
}

}  // namespace
}  // namespace dtnn
