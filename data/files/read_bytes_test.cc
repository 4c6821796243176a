#include "data/files/read_bytes.h"

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

TEST(ReadBytesTest, WholeFilesAndParts) {
  const std::string folder = testing::NewFolder("read_bytes");
  const std::string path = testing::WriteFile(folder, "file", Bytes{1, 2, 3, 4, 5});
  Bytes bytes(100, 9);
  ASSERT_TRUE(ReadBytes(path, bytes).ok());
  EXPECT_EQ(bytes, (Bytes{1, 2, 3, 4, 5}));
  Bytes part(2);
  ASSERT_TRUE(ReadBytesAt(path, 3, part).ok());
  EXPECT_EQ(part, (Bytes{4, 5}));
  EXPECT_EQ(ReadBytesAt(path, 4, part).message(),
            path + ": ends at byte 5 where 1 more were expected; was it changed?");
}

TEST(ReadBytesTest, WhatCannotBeReadIsNamed) {
  const std::string folder = testing::NewFolder("read_bytes");
  const std::string path = testing::WriteFile(folder, "file", Bytes{1, 2, 3, 4, 5});
  Bytes bytes;
  EXPECT_EQ(ReadBytes(path, bytes, 5), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(ReadBytes(path, bytes, 4)));
  EXPECT_EQ(ReadBytes(path, bytes, 4).message(),
            path + ": has 5 bytes, more than the 4 that are allowed");
  EXPECT_EQ(ReadBytes(folder, bytes).message(), folder + ": is a folder, not a regular file");
  const absl::Status missing = ReadBytes(folder + "/none", bytes);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(folder + "/none: cannot be opened"));
}

}  // namespace
}  // namespace dtnn
