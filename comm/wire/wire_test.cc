#include "comm/wire/wire.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(WireTest, ReadsWhatWasWritten) {
  WireWriter writer;
  writer.Number(uint8_t{200});
  writer.Number(uint32_t{0x01020304});
  writer.Number(uint64_t{0xfedcba9876543210});
  writer.Bytes(std::vector<uint8_t>{7, 8});
  const std::vector<uint8_t> bytes = std::move(writer).Take();
  EXPECT_EQ(bytes.size(), 15u);
  EXPECT_EQ(bytes[1], 4);  // little endian
  WireReader reader(bytes, "message");
  EXPECT_EQ(reader.Number<uint8_t>(), 200);
  EXPECT_EQ(reader.Number<uint32_t>(), 0x01020304u);
  EXPECT_EQ(reader.Number<uint64_t>(), 0xfedcba9876543210u);
  EXPECT_TRUE(std::ranges::equal(reader.Rest(), std::vector<uint8_t>{7, 8}));
  EXPECT_EQ(absl::OkStatus(), reader.Done());
}

TEST(WireTest, NumbersOfArraysAreLittleEndian) {
  uint8_t bytes[8] = {};
  StoreLittleEndian(uint16_t{0x0102}, bytes);
  StoreLittleEndian(uint32_t{0x03040506}, bytes + 2);
  const uint8_t wanted[] = {2, 1, 6, 5, 4, 3, 0, 0};
  EXPECT_TRUE(std::ranges::equal(bytes, wanted));
  EXPECT_EQ(LoadLittleEndian<uint16_t>(bytes), 0x0102);
  EXPECT_EQ(LoadLittleEndian<uint32_t>(bytes + 2), 0x03040506u);
  EXPECT_EQ(LoadLittleEndian<uint64_t>(bytes), 0x0000030405060102u);
}

TEST(WireTest, WhatIsMissingIsToldAtTheEnd) {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  WireReader reader(bytes, "message");
  EXPECT_EQ(reader.Number<uint32_t>(), 0u);
  EXPECT_EQ(reader.Number<uint8_t>(), 0) << "after a missing piece nothing is read";
  EXPECT_TRUE(reader.Bytes(size_t(-1)).empty());
  EXPECT_EQ(reader.Done().message(), "message: ends too early");

  WireReader more(bytes, "message");
  more.Number<uint16_t>();
  EXPECT_EQ(more.Done().message(), "message: has 1 bytes too many");
  EXPECT_EQ(more.Done().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace dtnn
