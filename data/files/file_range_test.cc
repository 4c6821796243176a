#include "data/files/file_range.h"

#include <cstdint>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;

std::string File() {
  return testing::WriteFile(testing::NewFolder("range"), "file", testing::Elements(1000));
}

Bytes Rest(FileRange& range, size_t room = 2000) {
  Bytes bytes(room);
  bytes.resize(range.Read(bytes).value());
  return bytes;
}

Bytes Split(int64_t begin, int64_t end) {
  const Bytes all = testing::Elements(1000);
  return Bytes(all.begin() + begin, all.begin() + end);
}

TEST(FileRangeTest, GivesTheBytesOfTheRangeOnly) {
  const std::string path = File();
  EXPECT_EQ(Rest(*FileRange::Open(path, 0, 1000).value()), Split(0, 1000));
  EXPECT_EQ(Rest(*FileRange::Open(path, 100, 50).value()), Split(100, 150));
  EXPECT_EQ(Rest(*FileRange::Open(path, 990, ~uint64_t{0}).value()), Split(990, 1000));
  EXPECT_EQ(Rest(*FileRange::Open(path, 1000, 1).value()), Bytes());
  EXPECT_EQ(Rest(*FileRange::Open(path, ~uint64_t{0}, ~uint64_t{0}).value()), Bytes());
}

// What a header promises is compared with it.
TEST(FileRangeTest, TheBoundIsWhatTheFileHas) {
  const std::string path = File();
  EXPECT_EQ(FileRange::Open(path, 990, 100).value()->bound(), 10u);
  EXPECT_EQ(FileRange::Open(path, 990, ~uint64_t{0}).value()->bound(), 10u);
  EXPECT_EQ(FileRange::Open(path, 1001, 1).value()->bound(), 0u);
  const auto range = FileRange::Open(path, 990, 100).value();
  EXPECT_EQ(range->Skip(50), 10u);
  EXPECT_EQ(Rest(*range), Bytes());
}

TEST(FileRangeTest, SkipsWithinTheRange) {
  const auto range = FileRange::Open(File(), 10, 100).value();
  EXPECT_EQ(range->bound(), 100u);
  EXPECT_EQ(Rest(*range, 5), Split(10, 15));
  EXPECT_EQ(range->Skip(20), 20u);
  EXPECT_EQ(Rest(*range, 5), Split(35, 40));
  EXPECT_EQ(range->bound(), 70u);
  EXPECT_EQ(range->Skip(~uint64_t{0}), 70u);
  EXPECT_EQ(range->bound(), 0u);
  EXPECT_EQ(Rest(*range), Bytes());
}

TEST(FileRangeTest, OnlyFilesAreOpened) {
  EXPECT_EQ(FileRange::Open("/nonexistent/x", 0, 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FileRange::Open(testing::NewFolder("range"), 0, 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dtnn
