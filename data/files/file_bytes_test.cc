#include "data/files/file_bytes.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Elements;
using ::testing::HasSubstr;
using testing::NewFolder;
using testing::WriteFile;

Bytes Copy(const FileBytes& bytes) { return {bytes.view().begin(), bytes.view().end()}; }

TEST(FileBytesTest, AMappedFileIsItsBytes) {
  const std::string folder = NewFolder("file_bytes");
  for (const size_t size : {0, 1, 4095, 4096, 4097, 100000}) {
    const FileBytes bytes = *FileBytes::Map(WriteFile(folder, "file", Elements(size)));
    EXPECT_EQ(Copy(bytes), Elements(size));
    EXPECT_EQ(bytes.size(), size);
    EXPECT_EQ(bytes.empty(), size == 0);
    EXPECT_TRUE(bytes.mapped());
  }
}

TEST(FileBytesTest, ACopyAndAPartKeepTheMemory) {
  const Bytes all = Elements(9000);
  const std::string path = WriteFile(NewFolder("file_bytes"), "file", all);
  for (FileBytes bytes : {*FileBytes::Map(path), FileBytes(all)}) {
    FileBytes rest = bytes.From(5000);
    const FileBytes copy = rest;
    bytes = rest = FileBytes();
    EXPECT_EQ(Copy(copy), Bytes(all.begin() + 5000, all.end()));
    EXPECT_TRUE(copy.From(4000).empty());
  }
}

TEST(FileBytesTest, OwnedBytesAreNotMapped) {
  EXPECT_FALSE(FileBytes().mapped());
  EXPECT_TRUE(FileBytes().empty());
  EXPECT_FALSE(FileBytes(Elements(3)).mapped());
  EXPECT_EQ(Copy(FileBytes(Elements(3))), Elements(3));
  const auto owner = std::make_shared<Bytes>(Elements(3));
  EXPECT_EQ(Copy(FileBytes(owner, *owner)), Elements(3));
}

TEST(FileBytesTest, WhatReplacesTheFileIsNotSeen) {
  const std::string folder = NewFolder("file_bytes");
  const std::string path = WriteFile(folder, "file", Elements(9000));
  const FileBytes bytes = *FileBytes::Map(path);
  std::filesystem::rename(WriteFile(folder, "other", Bytes{1}), path);
  EXPECT_EQ(Copy(bytes), Elements(9000));
  std::filesystem::remove(path);
  EXPECT_EQ(Copy(bytes), Elements(9000));
}

TEST(FileBytesTest, OnlyFilesAreMapped) {
  const std::string folder = NewFolder("file_bytes");
  const absl::Status missing = FileBytes::Map(folder + "/none").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(folder + "/none: cannot be opened"));
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder, pipe}) {
    EXPECT_EQ(FileBytes::Map(path).status().code(), absl::StatusCode::kFailedPrecondition) << path;
  }
}

}  // namespace
}  // namespace dtnn
