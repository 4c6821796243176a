#include "tensor/files/access/folder_lock.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

std::atomic<int> lock_fault = 0;

int Lock(int file) {
  if (lock_fault != 0) {
    errno = lock_fault;
    return -1;
  }
  return flock(file, LOCK_EX | LOCK_NB);
}

// The process that holds the lock, as it has written into the file.
std::string Holder(int file) {
  char text[HOST_NAME_MAX + 64];
  const ssize_t size = pread(file, text, sizeof(text), 0);
  // It may not have written yet.
  return size > 0 ? std::string(text, size_t(size)) : "another process on some host";
}

std::string ThisProcess() {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  return StrCat("process ", getpid(), " on host ", host);
}

// For messages only: what is locked stays locked where it cannot be written.
void WriteHolder(int file) {
  const std::string text = ThisProcess();
  [[maybe_unused]] const bool written =
      ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) > 0;
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::Take(std::string_view folder) {
  const std::string path = StrCat(folder, "/.lock");
  FolderLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock.file_ < 0) return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be opened"));
  if (Lock(lock.file_) == 0) {
    WriteHolder(lock.file_);
    return lock;
  }
  const int error = errno;
  const std::string holder = error == EWOULDBLOCK ? Holder(lock.file_) : "";
  close(std::exchange(lock.file_, -1));  // not the destructor, which gives up a lock that is held
  if (holder == ThisProcess()) return FailedPrecondition(folder, ": is in use by this process");
  if (!holder.empty()) {
    return FailedPrecondition(folder, ": is in use by ", holder, " (if that host is gone, delete ",
                              path, ")");
  }
  return Unimplemented(path, ": cannot be locked: ", std::generic_category().message(error));
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ < 0) return;
  // An old name that stays disturbs nobody: the lock is what counts.
  [[maybe_unused]] const int emptied = ftruncate(file_, 0);
  close(file_);
}

void internal::SetLockFaultForTesting(int error) { lock_fault = error; }

}  // namespace dtnn
