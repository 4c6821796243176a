#include "tensor/files/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/input_file.h"

namespace dtnn {
namespace {

absl::Status CheckPrivate(const InputFile& file) {
  const std::string& path = file.path();
  struct stat info = {};
  if (fstat(file.descriptor(), &info) != 0) {
    return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be examined"));
  }
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        StrCat(path,
               ": belongs to another user, who may read or change it; make a copy of your "
               "own, or chown it"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        StrCat(path, ": other users may read or change it; chmod 600 makes it private"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPrivateFile(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  return CheckPrivate(file);
}

absl::StatusOr<std::vector<std::byte>> ReadPrivateFile(std::string_view path, int64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  DTNN_RETURN_IF_ERROR(CheckPrivate(file));
  return ReadFile(file, max_bytes);
}

absl::Status CheckPrivateFolder(std::string_view path) {
  struct stat info = {};
  if (stat(std::string(path).c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be examined"));
  }
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(path, ": is not a folder");
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        StrCat(path,
               ": belongs to another user, who may change what is in it; name a folder of "
               "your own"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        StrCat(path, ": other users may change what is in it; chmod go-w ends that"));
  }
  return absl::OkStatus();
}

absl::Status WritePrivateFile(std::string_view path, std::string_view text) {
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::CreatePrivate(path));
  DTNN_RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

}  // namespace dtnn
