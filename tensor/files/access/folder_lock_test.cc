#include "tensor/files/access/folder_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FolderLockTest : public ::testing::Test {
 protected:
  FolderLockTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FolderLockTest() override {
    internal::SetLockFaultForTesting(0);
    fs::remove_all(folder_);
  }
  absl::StatusOr<FolderLock> Take() const { return FolderLock::Take(folder_.string()); }

  fs::path folder_;
};

// A process that has taken the lock and lives until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& folder) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const absl::StatusOr<FolderLock> lock = FolderLock::Take(folder);
      const char taken = lock.ok() ? 'y' : 'n';
      if (write(ends[1], &taken, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char taken = 0;
    EXPECT_EQ(read(ends[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    close(ends[0]);
    close(ends[1]);
  }
  ~Holder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST_F(FolderLockTest, WhoComesSecondLearnsWhoHoldsIt) {
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  const Holder holder(folder_.string());
  const absl::Status status = Take().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()), folder_.string() + ": is in use by process " +
                                               std::to_string(holder.pid()) + " on host " + host +
                                               " (if that host is gone, delete " +
                                               folder_.string() + "/.lock)");
}

TEST_F(FolderLockTest, ALockThatIsNotGivenLeavesNoDescriptorOpen) {
  const int64_t before = testing::OpenDescriptors();
  {
    const absl::StatusOr<FolderLock> lock = Take();
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(testing::OpenDescriptors(), before + 1);
    EXPECT_FALSE(Take().ok());
    EXPECT_EQ(testing::OpenDescriptors(), before + 1);
  }
  EXPECT_EQ(testing::OpenDescriptors(), before);
}

TEST_F(FolderLockTest, ADeadProcessHoldsNothing) {
  { const Holder killed(folder_.string()); }
  const absl::StatusOr<FolderLock> lock = Take();
  EXPECT_TRUE(lock.ok()) << lock.status();
}

TEST_F(FolderLockTest, NothingStaysOfALongerNameThatADeadProcessLeft) {
  std::ofstream(folder_ / ".lock") << std::string(256, 'x');
  const absl::StatusOr<FolderLock> lock = Take();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(std::string(Take().status().message()),
            folder_.string() + ": is in use by this process");
}

TEST_F(FolderLockTest, HoldsWithinAProcessTooAndEndsWithTheObject) {
  std::optional<FolderLock> moved;
  {
    absl::StatusOr<FolderLock> lock = Take();
    ASSERT_TRUE(lock.ok()) << lock.status();
    moved.emplace(*std::move(lock));
  }
  EXPECT_EQ(std::string(Take().status().message()),
            folder_.string() + ": is in use by this process");
  moved.reset();
  EXPECT_TRUE(Take().ok());
  EXPECT_EQ(fs::file_size(folder_ / ".lock"), 0u) << "the name of nobody stays";
}

TEST_F(FolderLockTest, AProgramStartedMeanwhileDoesNotHoldIt) {
  std::optional<absl::StatusOr<FolderLock>> lock = Take();
  ASSERT_TRUE((*lock).ok()) << (*lock).status();
  std::FILE* const other = popen("cat >/dev/null", "w");
  ASSERT_NE(other, nullptr);
  lock.reset();
  EXPECT_TRUE(Take().ok());
  pclose(other);
}

TEST_F(FolderLockTest, AFileSystemWithoutLocksIsToldFromAFolderInUse) {
  internal::SetLockFaultForTesting(ENOSYS);
  const absl::Status status = Take().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr(".lock: cannot be locked: "));
}

TEST_F(FolderLockTest, AFolderThatIsNotThereIsNamed) {
  const absl::Status status = FolderLock::Take((folder_ / "missing").string()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("missing/.lock: cannot be opened"));
}

}  // namespace
}  // namespace dtnn
