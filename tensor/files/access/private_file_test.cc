#include "tensor/files/access/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

std::string FileOfMode(const std::string& name, mode_t mode) {
  const std::string path = ::testing::TempDir() + "/" + name;
  unlink(path.c_str());
  std::ofstream(path) << "old";
  chmod(path.c_str(), mode);
  return path;
}

mode_t Mode(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(PrivateFileTest, OnlyItsOwnerMayReadOrChangeIt) {
  EXPECT_EQ(CheckPrivateFile(FileOfMode("private", 0600)), absl::OkStatus());
  EXPECT_EQ(CheckPrivateFile(FileOfMode("read_only", 0400)), absl::OkStatus());
  for (const mode_t mode : {0640, 0620, 0604, 0602, 0610, 0601}) {
    const absl::Status status = CheckPrivateFile(FileOfMode("open", mode));
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(status.message()), HasSubstr("open: other users may read"));
  }
  EXPECT_EQ(CheckPrivateFile(::testing::TempDir() + "/none").code(), absl::StatusCode::kNotFound);
}

TEST(PrivateFileTest, AnotherUsersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string path = FileOfMode("foreign", 0600);
  ASSERT_EQ(chown(path.c_str(), 12345, gid_t(-1)), 0);
  const absl::Status status = CheckPrivateFile(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("foreign: belongs to another user"));
}

TEST(PrivateFileTest, AGuardedFileMayBeReadByOthersButNotChanged) {
  EXPECT_EQ(ReadGuardedFile(FileOfMode("guarded", 0644), 3).status(), absl::OkStatus());
  EXPECT_EQ(ReadGuardedFile(FileOfMode("guarded", 0644), 2).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const mode_t mode : {0664, 0646, 0620}) {
    const absl::Status status = ReadGuardedFile(FileOfMode("shared", mode), 3).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("shared: other users may change it; chmod go-w ends that"));
  }
}

TEST(PrivateFileTest, OnlyWhatIsPrivateIsRead) {
  const auto bytes = ReadPrivateFile(FileOfMode("mine", 0600), 3);
  ASSERT_EQ(bytes.status(), absl::OkStatus());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), "old");
  const auto code = [](const std::string& path, int64_t most) {
    return ReadPrivateFile(path, most).status().code();
  };
  EXPECT_EQ(code(FileOfMode("open", 0640), 3), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(FileOfMode("long", 0600), 2), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(::testing::TempDir(), 3), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(::testing::TempDir() + "/none", 3), absl::StatusCode::kNotFound);
}

TEST(PrivateFileTest, OnlyItsOwnerMayWriteToAFolder) {
  const std::string path = ::testing::TempDir() + "/folder";
  mkdir(path.c_str(), 0700);
  for (const mode_t mode : {0700, 0755, 0711, 0500}) {
    chmod(path.c_str(), mode);
    EXPECT_EQ(CheckPrivateFolder(path), absl::OkStatus()) << std::oct << mode;
  }
  for (const mode_t mode : {0720, 0702, 0775, 01777}) {
    chmod(path.c_str(), mode);
    const absl::Status status = CheckPrivateFolder(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(status.message()), HasSubstr("folder: other users may change"));
  }
  EXPECT_EQ(CheckPrivateFolder(FileOfMode("file", 0600)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(CheckPrivateFolder(path + "/none").code(), absl::StatusCode::kNotFound);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  chmod(path.c_str(), 0700);
  ASSERT_EQ(chown(path.c_str(), 12345, gid_t(-1)), 0);
  EXPECT_THAT(std::string(CheckPrivateFolder(path).message()), HasSubstr("another user"));
}

TEST(PrivateFileTest, AFileThatOthersCouldReadIsReplacedByAPrivateOne) {
  const std::string path = FileOfMode("replaced", 0666);
  EXPECT_EQ(WritePrivateFile(path, "new"), absl::OkStatus());
  EXPECT_EQ(Mode(path), mode_t{0600});
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "new");
}

TEST(PrivateFileTest, ANewFileIsPrivateWhateverTheUmask) {
  const std::string path = ::testing::TempDir() + "/new";
  unlink(path.c_str());
  const mode_t before = umask(0);
  EXPECT_EQ(WritePrivateFile(path, "new"), absl::OkStatus());
  umask(before);
  EXPECT_EQ(Mode(path), mode_t{0600});
}

}  // namespace
}  // namespace dtnn
