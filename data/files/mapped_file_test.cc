#include "data/files/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using testing::Elements;
using ::testing::HasSubstr;
using testing::NewFolder;
using testing::WriteFile;

const size_t kPage = size_t(sysconf(_SC_PAGESIZE));

// What the process reads there now.
uint8_t At(const MappedFile& file, size_t offset) {
  return static_cast<const volatile uint8_t*>(file.bytes().data())[offset];
}

TEST(MappedFileTest, GivesTheBytesOfTheFile) {
  const std::string folder = NewFolder("mapped_file");
  for (const size_t size : {size_t{0}, size_t{1}, kPage, kPage + 1}) {
    const auto file = *MappedFile::Open(WriteFile(folder, "file", Elements(size)));
    EXPECT_TRUE(std::ranges::equal(file->bytes(), Elements(size)));
    EXPECT_TRUE(file->Check().ok());
  }
  EXPECT_EQ(MappedFile::Open(folder + "/none").status().code(), absl::StatusCode::kNotFound);
}

// The mapping holds the file.
TEST(MappedFileTest, NeedsNoDescriptor) {
  const std::string path = WriteFile(NewFolder("mapped_file"), "file", Elements(100));
  const int64_t before = testing::OpenDescriptors();
  const auto file = *MappedFile::Open(path);
  EXPECT_EQ(testing::OpenDescriptors(), before);
}

TEST(MappedFileTest, OfAFileThatIsCutTheRestReadsAsZerosAndItIsSaid) {
  const std::string folder = NewFolder("mapped_file");
  const std::string path = WriteFile(folder, "file", Elements(5 * kPage));
  const auto file = *MappedFile::Open(path);
  const auto other = *MappedFile::Open(WriteFile(folder, "other", Elements(5 * kPage)));
  std::filesystem::resize_file(path, 2 * kPage);
  EXPECT_EQ(At(*file, kPage + 1), Elements(5 * kPage)[kPage + 1]);
  EXPECT_TRUE(file->Check().ok()) << "what was read was there";
  EXPECT_EQ(At(*file, 3 * kPage + 5), 0);
  EXPECT_EQ(At(*file, 5 * kPage - 1), 0);
  EXPECT_EQ(At(*file, 3 * kPage - 1), 0) << "of another page that is gone";
  const absl::Status status = file->Check();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": was truncated"));
  EXPECT_TRUE(other->Check().ok());
  EXPECT_EQ(At(*other, 5 * kPage - 1), Elements(5 * kPage)[5 * kPage - 1]);
}

TEST(MappedFileTest, ManyThreadsMayMeetTheCut) {
  const std::string path = WriteFile(NewFolder("mapped_file"), "file", Elements(64 * kPage));
  for (int round = 0; round < 20; ++round) {
    std::filesystem::resize_file(path, 64 * kPage);
    const auto file = *MappedFile::Open(path);
    std::filesystem::resize_file(path, 0);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (size_t page = t; page < 64; page += 2) wrong[t] += At(*file, page * kPage);
        wrong[t] += file->Check().ok() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(wrong, ::testing::Each(0));
  }
}

// Reads behind the end of a file that this library did not map.
void ReadElsewhere(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY);
  const void* pages = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, descriptor, 0);
  std::filesystem::resize_file(path, 0);
  (void)*static_cast<const volatile uint8_t*>(pages);
}

// A sanitizer handles the signal, and ends the process with an exit code of its own.
bool EndedByABusError(int status) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return WIFEXITED(status) && WEXITSTATUS(status) != 0;
#else
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
#endif
}

TEST(MappedFileDeathTest, OtherBusErrorsStillEndTheProcess) {
  const std::string folder = NewFolder("mapped_file");
  const auto file = *MappedFile::Open(WriteFile(folder, "file", Elements(kPage)));
  const std::string other = WriteFile(folder, "other", Elements(kPage));
  EXPECT_EXIT(ReadElsewhere(other), EndedByABusError, "");
  EXPECT_EXIT(raise(SIGBUS), EndedByABusError, "");
}

// Where the file was, somebody else's may be later.
TEST(MappedFileDeathTest, AMappingThatIsGoneIsNoConcernOfTheLibrary) {
  const std::string folder = NewFolder("mapped_file");
  const std::string path = WriteFile(folder, "file", Elements(kPage));
  void* const place = const_cast<uint8_t*>((*MappedFile::Open(path))->bytes().data());
  const int descriptor = open(path.c_str(), O_RDONLY);
  ASSERT_EQ(mmap(place, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0), place);
  std::filesystem::resize_file(path, 0);
  EXPECT_EXIT((void)*static_cast<const volatile uint8_t*>(place), EndedByABusError, "");
  munmap(place, kPage);
  close(descriptor);
}

// A handler that was there before the library's still gets the signals that are not the library's.
TEST(MappedFileDeathTest, AnEarlierHandlerIsKept) {
  const std::string folder = NewFolder("mapped_file");
  const std::string path = WriteFile(folder, "file", Elements(kPage));
  const std::string other = WriteFile(folder, "other", Elements(kPage));
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which nothing was mapped yet
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(77); });
        const auto file = *MappedFile::Open(path);
        std::filesystem::resize_file(path, 0);
        if (At(*file, 0) == 0 && !file->Check().ok()) ReadElsewhere(other);
      },
      ::testing::ExitedWithCode(77), "");
}

}  // namespace
}  // namespace dtnn
