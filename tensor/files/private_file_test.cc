#include "tensor/files/private_file.h"

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
