#include "tensor/files/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include "tensor/errors.h"
#include "tensor/files/input_file.h"

namespace dtnn {
namespace {

std::atomic<internal::FileFaultHook> fault_hook = nullptr;

// True where a test wants this step to fail; errno is set then.
bool Fault(std::string_view step) {
  const internal::FileFaultHook hook = fault_hook.load(std::memory_order_relaxed);
  const int error = hook == nullptr ? 0 : hook(step);
  if (error != 0) errno = error;
  return error != 0;
}

absl::Status Error(std::string_view path, std::string_view step, int error) {
  return absl::ErrnoToStatus(error, StrCat(path, ": ", step));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

// Where `path` leads through links, whether or not there is a file. The links of /proc to what a
// process has open (/dev/stdout is one) are refused: a new file would take the name of the open
// one, and what the process writes afterwards would be lost with the old file.
absl::StatusOr<std::string> Resolve(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::string at = path;
  for (int link = 0; link < kMostLinks; ++link) {
    char text[PATH_MAX];
    const ssize_t size = readlink(at.c_str(), text, sizeof(text));
    if (size < 0) return at;  // not a link: a file, a folder, or nothing yet
    const std::string folder = FolderOf(at);
    struct statfs system;
    if (statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
      return FailedPrecondition(path, ": cannot be written: it leads to ", at,
                                ", which a process has open; name the file itself");
    }
    const std::string to(text, size_t(size));
    at = to.starts_with('/') ? to : StrCat(folder, "/", to);
  }
  return Error(path, "cannot be written", ELOOP);
}

// Creates a file of an unused name beside `target` with at most these permission bits.
int OpenTemporary(const std::string& target, mode_t mode, std::string* name) {
  static std::atomic<uint32_t> counter = 0;
  const size_t slash = target.rfind('/') + 1;  // 0 without one
  // Cut, so that the longest allowed file name still has a temporary one.
  const std::string base = target.substr(slash, 200);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    *name = StrCat(target.substr(0, slash), ".", base, ".", getpid(), "-", counter++, ".tmp");
    if (Fault("open")) return -1;
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// The permission bits of the file to be replaced; nullopt when there is none yet. `path`: with its
// links, of which the kernel follows only those that it trusts (fs.protected_symlinks).
absl::StatusOr<std::optional<mode_t>> ModeOfExisting(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return Error(path, "cannot be written", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition(path, ": cannot be written: it is a ",
                              S_ISDIR(info.st_mode) ? "folder" : "device or pipe",
                              ", not a regular file");
  }
  // The rename would replace a write-protected file without asking.
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return Error(path, "cannot be written", errno);
  }
  return info.st_mode & 0777;
}

bool WriteAll(int file, int64_t offset, std::span<const std::byte> bytes) {
  constexpr size_t kMost = size_t{1} << 30;  // Linux writes less than 2^31 bytes at once
  while (!bytes.empty()) {
    if (Fault("write")) return false;
    const ssize_t written = pwrite(file, bytes.data(), std::min(bytes.size(), kMost), offset);
    if (written < 0 && errno != EINTR) return false;
    if (written <= 0) continue;
    bytes = bytes.subspan(size_t(written));
    offset += written;
  }
  return true;
}

// All that `file` holds, up to `most` bytes.
absl::StatusOr<std::vector<std::byte>> ReadUpTo(const InputFile& file, size_t most) {
  std::vector<std::byte> bytes;
  for (;;) {
    // One more than there should be: the files of /proc hold more than they say.
    const size_t size = bytes.size();
    const size_t room = std::max(size_t(file.size()) + 1, size + std::max<size_t>(4096, size / 2));
    bytes.resize(std::min(most, room));
    DTNN_ASSIGN_OR_RETURN(const size_t count,
                          file.ReadUpTo(int64_t(size), std::span(bytes).subspan(size)));
    if (size + count < bytes.size() || bytes.size() == most) {
      bytes.resize(size + count);
      return bytes;
    }
  }
}

absl::Status TooLarge(std::string_view path, int64_t max_bytes) {
  return FailedPrecondition(path, ": contains more than the ", max_bytes,
                            " bytes that are allowed");
}

}  // namespace

void internal::SetFileFaultHookForTesting(FileFaultHook hook) { fault_hook = hook; }

absl::StatusOr<AtomicFile> AtomicFile::Create(std::string_view path) {
  return Make(path, /*only_owner=*/false);
}

absl::StatusOr<AtomicFile> AtomicFile::CreatePrivate(std::string_view path) {
  return Make(path, /*only_owner=*/true);
}

absl::StatusOr<AtomicFile> AtomicFile::Make(std::string_view path, bool only_owner) {
  AtomicFile result;
  result.path_ = path;
  if (path.empty()) return absl::InvalidArgumentError("the name of the file to write is empty");
  DTNN_ASSIGN_OR_RETURN(result.target_, Resolve(result.path_));
  DTNN_ASSIGN_OR_RETURN(std::optional<mode_t> mode, ModeOfExisting(result.path_));
  if (only_owner) mode = S_IRUSR | S_IWUSR;

  const std::string folder = FolderOf(result.target_);
  result.folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (result.folder_ < 0) {
    return Error(path, StrCat("cannot be written: folder ", folder), errno);
  }

  std::string temporary;
  result.file_ = OpenTemporary(result.target_, mode.value_or(0666), &temporary);
  if (result.file_ < 0) return result.Fail("creating a temporary file next to it", errno);
  result.temporary_ = std::move(temporary);
  flock(result.file_, LOCK_EX | LOCK_NB);  // for IsAbandoned; not every file system can
  if (mode.has_value() && fchmod(result.file_, *mode) != 0) {
    return result.Fail("setting its permissions", errno);
  }
  return result;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      file_(std::exchange(other.file_, -1)),
      folder_(std::exchange(other.folder_, -1)),
      size_(other.size_),
      status_(std::exchange(other.status_, absl::FailedPreconditionError("moved from"))) {}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (folder_ >= 0) close(folder_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Fail(std::string_view step, int error) {
  status_ = Error(path_, StrCat(step, " failed"), error);
  return status_;
}

absl::Status AtomicFile::Append(std::span<const std::byte> bytes) { return WriteAt(size_, bytes); }

absl::Status AtomicFile::WriteAt(int64_t offset, std::span<const std::byte> bytes) {
  DTNN_RETURN_IF_ERROR(status_);
  if (!WriteAll(file_, offset, bytes)) return Fail("writing", errno);
  size_ = std::max(size_, offset + int64_t(bytes.size()));
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  DTNN_RETURN_IF_ERROR(status_);
  if (Fault("fsync") || fsync(file_) != 0) return Fail("writing to the disk", errno);
  // Network file systems report a full disk here.
  if (Fault("close") || close(std::exchange(file_, -1)) != 0) return Fail("closing", errno);
  struct stat info;  // of what has taken the place since Create()
  if (lstat(target_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    status_ = FailedPrecondition(path_, ": is not replaced: it has become a ",
                                 S_ISLNK(info.st_mode) ? "link" : "folder, device or pipe");
    return status_;
  }
  if (Fault("rename") || rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Fail("renaming the temporary file", errno);
  }
  temporary_.clear();
  // Some file systems cannot sync a folder and say EINVAL.
  if ((Fault("fsync folder") || fsync(folder_) != 0) && errno != EINVAL) {
    return Fail("the new file is in place, but writing its folder to the disk", errno);
  }
  status_ = FailedPrecondition(path_, ": is committed already");
  return absl::OkStatus();
}

bool IsAbandoned(const std::string& temporary) {
  const int file = open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  const bool locked = flock(file, LOCK_SH | LOCK_NB) == 0;  // NFS wants no more of a reader
  close(file);
  return locked;
}

absl::Status WriteFileAtomically(std::string_view path, std::span<const std::byte> bytes) {
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  DTNN_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

absl::StatusOr<std::vector<std::byte>> ReadFile(std::string_view path, int64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  return ReadFile(file, max_bytes);
}

absl::StatusOr<std::vector<std::byte>> ReadFile(const InputFile& file, int64_t max_bytes) {
  const std::string& path = file.path();
  if (file.size() > max_bytes) return TooLarge(path, max_bytes);
  try {
    DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadUpTo(file, size_t(max_bytes) + 1));
    if (int64_t(bytes.size()) > max_bytes) return TooLarge(path, max_bytes);
    return bytes;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(path, ": no memory for its ", file.size(), " bytes");
  }
}

}  // namespace dtnn
