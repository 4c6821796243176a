#include "tensor/files/atomic_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What was brought to the disk, in order: a folder or the file, and whether it had its name by
// then.
struct Synced {
  bool folder, named;
  friend bool operator==(const Synced&, const Synced&) = default;
};
std::vector<Synced> synced;
fs::path synced_path;

std::string_view fault_step;
int fault_errno;
int FailOnce(std::string_view step) {
  if (step != fault_step) return 0;
  fault_step = {};
  return fault_errno;
}

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / info->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file";
  }
  ~AtomicFileTest() override {
    internal::SetFileFaultHookForTesting(nullptr);
    fs::remove_all(folder_);
  }

  static std::string Contents(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void Put(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
  static absl::Status Write(const fs::path& path, std::string_view text) {
    return WriteFileAtomically(path.string(), std::as_bytes(std::span(text)));
  }
  static mode_t Mode(const fs::path& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  fs::path folder_, path_;
};

TEST_F(AtomicFileTest, TheFileAppearsWithCommitAndNotBefore) {
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(path_.string());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->Append("one ").ok());
    EXPECT_TRUE(file->Append("").ok());
    EXPECT_TRUE(file->Append("two").ok());
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_TRUE(file->Commit().ok());
    EXPECT_EQ(Contents(path_), "one two");
  }
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, TemporaryFilesOfTheLivingCanBeTold) {
  const auto file = AtomicFile::Create(path_.string());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(Names().size(), 1u);
  EXPECT_FALSE(IsAbandoned((folder_ / Names()[0]).string()));
  EXPECT_FALSE(IsAbandoned((folder_ / "none").string()));
  Put(folder_ / ".file.1-0.tmp", "of a process that is gone");
  EXPECT_TRUE(IsAbandoned((folder_ / ".file.1-0.tmp").string()));
}

// A process that had the same number, in another container say, may have left them.
TEST_F(AtomicFileTest, TemporaryFilesOfOthersAreLeftAlone) {
  const auto name = [&](uint64_t number) {
    return folder_ / (".file." + std::to_string(getpid()) + "-" + std::to_string(number) + ".tmp");
  };
  uint64_t next = 0;  // the number of the next one of this process
  {
    const auto file = AtomicFile::Create(path_.string());
    ASSERT_TRUE(file.ok()) << file.status();
    while (next < 10000 && !fs::exists(name(next))) ++next;
    ++next;
  }
  Put(name(next), "foreign");
  Put(name(next + 1), "foreign");
  EXPECT_EQ(Write(path_, "text"), absl::OkStatus());
  EXPECT_EQ(Contents(path_), "text");
  EXPECT_EQ(Contents(name(next)), "foreign");
  EXPECT_EQ(Contents(name(next + 1)), "foreign");
}

TEST_F(AtomicFileTest, WithoutCommitNothingHappened) {
  Put(path_, "old");
  {
    AtomicFile file = *AtomicFile::Create(path_.string());
    EXPECT_TRUE(file.Append("new").ok());
    EXPECT_EQ(Names().size(), 2u);
    const AtomicFile moved = std::move(file);
  }
  EXPECT_EQ(Contents(path_), "old");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, ReplacesAndCommitsOnce) {
  Put(path_, "a longer old text");
  AtomicFile file = *AtomicFile::Create(path_.string());
  EXPECT_TRUE(file.Append("new").ok());
  EXPECT_TRUE(file.Commit().ok());
  EXPECT_EQ(Contents(path_), "new");
  EXPECT_THAT(std::string(file.Commit().message()), HasSubstr("committed already"));
  EXPECT_FALSE(file.Append("more").ok());
  EXPECT_EQ(Contents(path_), "new");
}

TEST_F(AtomicFileTest, NewFilesFollowTheUmaskAndOldOnesKeepTheirMode) {
  const mode_t before = umask(027);
  EXPECT_TRUE(Write(path_, "x").ok());
  EXPECT_EQ(Mode(path_), 0640u);
  ASSERT_EQ(chmod(path_.c_str(), 0606), 0);
  EXPECT_TRUE(Write(path_, "y").ok());
  EXPECT_EQ(Mode(path_), 0606u);
  umask(before);
}

TEST_F(AtomicFileTest, AWriteProtectedFileIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "nothing is write-protected for root";
  Put(path_, "old");
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  EXPECT_EQ(Write(path_, "new").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Contents(path_), "old");
}

TEST_F(AtomicFileTest, ALinkStaysALink) {
  fs::create_directory(folder_ / "elsewhere");
  Put(folder_ / "elsewhere" / "target", "old");
  fs::create_symlink("elsewhere/target", path_);
  EXPECT_TRUE(Write(path_, "new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(Contents(folder_ / "elsewhere" / "target"), "new");
}

TEST_F(AtomicFileTest, ALinkToNothingIsWrittenThrough) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/second", path_);
  fs::create_symlink("target", folder_ / "elsewhere" / "second");
  EXPECT_TRUE(Write(path_, "new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_symlink(folder_ / "elsewhere" / "second"));
  EXPECT_EQ(Contents(folder_ / "elsewhere" / "target"), "new");
}

TEST_F(AtomicFileTest, LinksThatLeadNowhereAreRefused) {
  fs::create_symlink("missing/target", path_);
  EXPECT_EQ(Write(path_, "x").code(), absl::StatusCode::kNotFound);
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_THAT(std::string(Write(folder_ / "circle", "x").message()),
              HasSubstr("Too many levels of symbolic links"));
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_symlink(folder_ / "circle"));
}

// As /dev/stdout is one: the file would get another's name, and what is written to the open one
// would be lost.
TEST_F(AtomicFileTest, LinksToWhatAProcessHasOpenAreRefused) {
  std::FILE* const open = std::fopen((folder_ / "open").c_str(), "w");
  ASSERT_NE(open, nullptr);
  std::fputs("log", open);
  const std::string descriptor = "/proc/self/fd/" + std::to_string(fileno(open));
  fs::create_symlink(descriptor, path_);
  fs::create_symlink("/proc/self/fd", folder_ / "descriptors");
  const auto refused = [&] {
    for (const fs::path& path :
         {path_, fs::path(descriptor), folder_ / "descriptors" / std::to_string(fileno(open))}) {
      const absl::Status status = Write(path, "x");
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << path << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(path.string()), HasSubstr("which a process has open")));
    }
  };
  refused();
  fs::remove(folder_ / "open");  // now the link leads to a name that there is not
  refused();
  std::fclose(open);
  EXPECT_TRUE(fs::is_symlink(path_));
}

TEST_F(AtomicFileTest, WhatHasBecomeALinkOrAPipeMeanwhileStays) {
  Put(folder_ / "target", "old");
  for (const bool link : {true, false}) {
    AtomicFile file = *AtomicFile::Create(path_.string());
    EXPECT_TRUE(file.Append("new").ok());
    link ? fs::create_symlink("target", path_) : void(mkfifo(path_.c_str(), 0600));
    EXPECT_THAT(std::string(file.Commit().message()),
                AllOf(HasSubstr(path_.string()), HasSubstr("is not replaced")));
    EXPECT_FALSE(fs::is_regular_file(fs::symlink_status(path_)));
    fs::remove(path_);
  }
  EXPECT_EQ(Contents(folder_ / "target"), "old");
}

TEST_F(AtomicFileTest, NamesWithoutFolderAndOfFullLengthWork) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(Write("file", "x").ok());
  fs::current_path(before);
  EXPECT_EQ(Contents(path_), "x");
  EXPECT_TRUE(Write(folder_ / std::string(255, 'n'), "x").ok());
}

TEST_F(AtomicFileTest, EveryFailingStepNamesFileAndReasonAndLeavesTheOldFile) {
  Put(path_, "old");
  internal::SetFileFaultHookForTesting(FailOnce);
  for (std::string_view step : {"open", "write", "fsync", "close", "rename"}) {
    for (auto [error, text] :
         {std::pair(ENOSPC, "No space left on device"), std::pair(EIO, "Input/output error")}) {
      fault_step = step;
      fault_errno = error;
      const absl::Status status = Write(path_, "new");
      EXPECT_TRUE(fault_step.empty()) << step << " was never taken";
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_.string()), HasSubstr(text)))
          << step;
      EXPECT_EQ(absl::IsResourceExhausted(status), error == ENOSPC) << status;
      EXPECT_EQ(Contents(path_), "old") << step;
      EXPECT_THAT(Names(), ElementsAre("file")) << step;
    }
  }
  EXPECT_TRUE(Write(path_, "new").ok());
}

// A machine may lose its power between any two of these.
TEST_F(AtomicFileTest, TheFileIsOnTheDiskBeforeItHasItsNameAndTheFolderAfter) {
  synced_path = path_;
  synced.clear();
  ASSERT_TRUE(Write(path_, "x").ok());
  EXPECT_THAT(synced, ElementsAre(Synced{.folder = false, .named = false},
                                  Synced{.folder = true, .named = true}));
}

TEST_F(AtomicFileTest, AFolderThatCannotBeSyncedIsReportedThoughTheFileIsThere) {
  internal::SetFileFaultHookForTesting(FailOnce);
  fault_step = "fsync folder";
  fault_errno = EIO;
  EXPECT_THAT(std::string(Write(path_, "new").message()), HasSubstr("the new file is in place"));
  EXPECT_EQ(Contents(path_), "new");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, AFileSystemThatSyncsNoFoldersIsGoodEnough) {
  internal::SetFileFaultHookForTesting(FailOnce);
  fault_step = "fsync folder";
  fault_errno = EINVAL;
  EXPECT_TRUE(Write(path_, "new").ok());
  EXPECT_TRUE(fault_step.empty()) << "was never taken";
}

TEST_F(AtomicFileTest, WriteAtCompletesWhatWasWrittenBefore) {
  AtomicFile file = *AtomicFile::Create(path_.string());
  EXPECT_TRUE(file.Append("???? body").ok());
  EXPECT_TRUE(file.WriteAt(0, std::as_bytes(std::span("head", 4))).ok());
  EXPECT_TRUE(file.Append(" end").ok());
  EXPECT_TRUE(file.Commit().ok());
  EXPECT_EQ(Contents(path_), "head body end");
}

// A run writes thousands of files.
TEST_F(AtomicFileTest, NoDescriptorStaysOpen) {
  const auto open = testing::OpenDescriptors;
  const int64_t before = open();
  EXPECT_TRUE(Write(path_, "x").ok());
  EXPECT_EQ(open(), before) << "after Commit";
  {
    AtomicFile file = *AtomicFile::Create(path_.string());
    EXPECT_TRUE(file.Append("y").ok());
    AtomicFile moved = std::move(file);
    EXPECT_EQ(open(), before + 2) << "the file and its folder";
  }
  EXPECT_EQ(open(), before) << "without Commit";
  internal::SetFileFaultHookForTesting(FailOnce);
  fault_errno = EIO;
  for (std::string_view step : {"open", "write", "fsync", "close", "rename", "fsync folder"}) {
    fault_step = step;
    EXPECT_FALSE(Write(path_, "z").ok()) << step;
    EXPECT_EQ(open(), before) << step;
  }
  EXPECT_FALSE(Write(folder_ / "none" / "file", "x").ok());
  EXPECT_FALSE(Write(folder_, "x").ok());
  EXPECT_EQ(open(), before);
}

TEST_F(AtomicFileTest, TheFirstErrorSticks) {
  internal::SetFileFaultHookForTesting(FailOnce);
  fault_step = "write";
  fault_errno = EIO;
  AtomicFile file = *AtomicFile::Create(path_.string());
  const absl::Status status = file.Append("x");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(file.Append("x"), status);
  EXPECT_EQ(file.Commit(), status);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(AtomicFileTest, ARealShortWriteIsAnErrorToo) {
  Put(path_, "old");
  // The kernel writes the first 10000 bytes and then refuses, as on a disk that runs full.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {10000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = Write(path_, std::string(20000, 'n'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path_.string()), HasSubstr("File too large")));
  EXPECT_EQ(Contents(path_), "old");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(AtomicFileTest, OnlyRegularFilesInExistingFoldersCanBeWritten) {
  EXPECT_THAT(std::string(Write("/dev/full", "x").message()),
              AllOf(HasSubstr("/dev/full"), HasSubstr("not a regular file")));
  EXPECT_THAT(std::string(Write(folder_, "x").message()), HasSubstr("it is a folder"));
  EXPECT_EQ(Write(folder_ / "missing" / "file", "x").code(), absl::StatusCode::kNotFound);
  Put(path_, "old");
  EXPECT_FALSE(Write(path_ / "below", "x").ok());
  EXPECT_FALSE(Write("", "x").ok());
  EXPECT_THAT(Names(), ElementsAre("file"));
}

class ReadFileTest : public AtomicFileTest {
 protected:
  static std::string Text(const absl::StatusOr<std::vector<std::byte>>& bytes) {
    if (!bytes.ok()) return std::string(bytes.status().message());
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
};

TEST_F(ReadFileTest, GivesTheBytesUpToTheLimit) {
  for (size_t size : {0, 1, 4095, 4096, 100000}) {
    const std::string text(size, 'x');
    Put(path_, text);
    EXPECT_EQ(Text(ReadFile(path_.string(), int64_t(size))), text);
    EXPECT_EQ(Text(ReadFile(path_.string(), int64_t{1} << 40)), text);
    if (size > 0) {
      EXPECT_THAT(Text(ReadFile(path_.string(), int64_t(size) - 1)),
                  AllOf(HasSubstr(path_.string()), HasSubstr("contains more than")));
    }
  }
}

TEST_F(ReadFileTest, ReadsFilesThatHideTheirSize) {
  EXPECT_THAT(Text(ReadFile("/proc/self/status", 1 << 20)), HasSubstr("Name:"));
  EXPECT_THAT(Text(ReadFile("/proc/self/status", 10)), HasSubstr("contains more than"));
}

TEST_F(ReadFileTest, ADeviceIsNoFile) {
  EXPECT_EQ(Text(ReadFile("/dev/zero", 100000)), "/dev/zero: is a device, not a regular file");
}

TEST_F(ReadFileTest, ErrorsNameTheFileAndTheReason) {
  const absl::Status missing = ReadFile(path_.string(), 10).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr(path_.string()), HasSubstr("No such file")));
  EXPECT_THAT(Text(ReadFile(folder_.string(), 10)), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace dtnn

// In place of the C library's, for all of this program.
extern "C" int fsync(int file) {
  struct stat info;
  if (fstat(file, &info) != 0) return -1;
  dtnn::synced.push_back({S_ISDIR(info.st_mode), dtnn::fs::exists(dtnn::synced_path)});
  return int(syscall(SYS_fsync, file));
}
