#include "tensor/files/access/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/input_file.h"

namespace dtnn {
namespace {

// What nobody else may do, and what to do where somebody may.
struct Privacy {
  mode_t rights;
  std::string_view may, if_foreign, if_open;
};
constexpr Privacy kFile = {S_IRWXG | S_IRWXO, "read or change it",
                           "make a copy of your own, or chown it", "chmod 600 makes it private"};
constexpr Privacy kGuarded = {S_IWGRP | S_IWOTH, "change it",
                              "make a copy of your own, or chown it", "chmod go-w ends that"};
constexpr Privacy kFolder = {S_IWGRP | S_IWOTH, "change what is in it", "name a folder of your own",
                             "chmod go-w ends that"};

absl::Status Check(std::string_view path, const struct stat& info, const Privacy& privacy) {
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        StrCat(path, ": belongs to another user, who may ", privacy.may, "; ", privacy.if_foreign));
  }
  if ((info.st_mode & privacy.rights) != 0) {
    return absl::PermissionDeniedError(
        StrCat(path, ": other users may ", privacy.may, "; ", privacy.if_open));
  }
  return absl::OkStatus();
}

absl::Status CheckFile(const InputFile& file, const Privacy& privacy) {
  struct stat info = {};
  if (fstat(file.descriptor(), &info) != 0) {
    return absl::ErrnoToStatus(errno, StrCat(file.path(), ": cannot be examined"));
  }
  return Check(file.path(), info, privacy);
}

absl::StatusOr<std::vector<std::byte>> ReadChecked(std::string_view path, int64_t max_bytes,
                                                   const Privacy& privacy) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  DTNN_RETURN_IF_ERROR(CheckFile(file, privacy));
  return ReadFile(file, max_bytes);
}

}  // namespace

absl::Status CheckPrivateFile(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  return CheckFile(file, kFile);
}

absl::StatusOr<std::vector<std::byte>> ReadPrivateFile(std::string_view path, int64_t max_bytes) {
  return ReadChecked(path, max_bytes, kFile);
}

absl::StatusOr<std::vector<std::byte>> ReadGuardedFile(std::string_view path, int64_t max_bytes) {
  return ReadChecked(path, max_bytes, kGuarded);
}

absl::Status CheckPrivateFolder(std::string_view path) {
  struct stat info = {};
  if (stat(std::string(path).c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be examined"));
  }
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(path, ": is not a folder");
  return Check(path, info, kFolder);
}

absl::Status WritePrivateFile(std::string_view path, std::string_view text) {
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::CreatePrivate(path));
  DTNN_RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

}  // namespace dtnn
