#include "tensor/files/input_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class InputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/input_file_" + test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string Put(const std::string& text) const {
    std::ofstream(folder_ + "/file") << text;
    return folder_ + "/file";
  }
  static std::string ErrorOf(const std::string& path) {
    return std::string(InputFile::Open(path).status().message());
  }
  std::string folder_;
};

std::string Text(const std::vector<std::byte>& bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), count};
}

// A data set may have a million files.
TEST_F(InputFileTest, NoDescriptorStaysOpen) {
  const std::string path = Put("x");
  const int64_t before = testing::OpenDescriptors();
  {
    InputFile file = *InputFile::Open(path);
    const InputFile moved = std::move(file);
    EXPECT_EQ(testing::OpenDescriptors(), before + 1);
  }
  EXPECT_NE(ErrorOf(folder_), "");
  EXPECT_EQ(testing::OpenDescriptors(), before);
  std::string error;
  {
    const testing::NoNewDescriptors none;
    error = ErrorOf(path);
  }
  EXPECT_EQ(error, path + ": cannot be opened: Too many open files");
}

TEST_F(InputFileTest, ReadsFromAnyPlace) {
  const std::string path = Put("0123456789");
  const InputFile file = *InputFile::Open(path);
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.size(), 10);
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(file.Read(3, bytes).ok());
  EXPECT_EQ(Text(bytes, 4), "3456");
  ASSERT_EQ(*file.ReadUpTo(8, bytes), 2u);
  EXPECT_EQ(Text(bytes, 2), "89");
  EXPECT_EQ(*file.ReadUpTo(11, bytes), 0u);
  EXPECT_EQ(file.Read(8, bytes),
            absl::DataLossError(path + ": ends at byte 10 where 2 more were expected; was it "
                                       "changed?"));
  EXPECT_TRUE(file.Read(10, {}).ok());
}

TEST_F(InputFileTest, AMovedFileIsClosedOnce) {
  InputFile file = *InputFile::Open(Put("abc"));
  const int descriptor = file.descriptor();
  {
    const InputFile other = std::move(file);
    EXPECT_EQ(other.descriptor(), descriptor);
    EXPECT_EQ(other.size(), 3);
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  const int released = InputFile::Open(Put("abc"))->Release();
  EXPECT_EQ(fcntl(released, F_GETFD), FD_CLOEXEC);
  close(released);
}

TEST_F(InputFileTest, WhatIsNotThereOrNotAllowedSaysSo) {
  EXPECT_EQ(InputFile::Open(folder_ + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf(folder_ + "/none"),
              HasSubstr(folder_ + "/none: cannot be opened: No such file"));
  EXPECT_EQ(InputFile::Open("").status().code(), absl::StatusCode::kNotFound);
}

// A pipe without a writer would make open() wait for ever.
TEST_F(InputFileTest, OnlyRegularFilesAreOpened) {
  EXPECT_EQ(ErrorOf(folder_), folder_ + ": is a folder, not a regular file");
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(pipe), pipe + ": is a pipe, not a regular file");
  EXPECT_EQ(ErrorOf("/dev/null"), "/dev/null: is a device, not a regular file");
  const std::string link = folder_ + "/link";
  std::filesystem::create_symlink(pipe, link);
  EXPECT_EQ(ErrorOf(link), link + ": is a pipe, not a regular file");
}

// Opening one wakes a writer that waits for a reader, and devices.
TEST_F(InputFileTest, APipeIsNotEvenOpened) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, pipe.c_str(), IN_OPEN), 0);
  EXPECT_FALSE(InputFile::Open(pipe).ok());
  char events[4096];
  EXPECT_EQ(read(watch, events, sizeof(events)), -1) << "it was opened";
  close(open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_GT(read(watch, events, sizeof(events)), 0) << "the watch sees nothing";
  close(watch);
}

}  // namespace
}  // namespace dtnn
