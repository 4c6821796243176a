// One process at a time in a folder: a lock on its file ".lock", which ends with the object or with
// the process, however that ends, while its host lives. The file stays, since a process that
// deleted it could delete one that another has just locked.
//
// The lock is flock's: on network file systems it is kept by the server and holds between hosts.
// The server may keep that of a host which is gone; a user who knows that deletes the file.

#ifndef DTNN_TENSOR_FILES_ACCESS_FOLDER_LOCK_H_
#define DTNN_TENSOR_FILES_ACCESS_FOLDER_LOCK_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace dtnn {

class FolderLock {
 public:
  // FailedPrecondition where another process holds it, with its id and host, and the file to delete
  // once that host is gone, or another lock of this process. Unimplemented where the file system
  // has no locks.
  static absl::StatusOr<FolderLock> Take(std::string_view folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}

  int file_;  // -1: moved from
};

namespace internal {

// From now on locking fails with this errno, as on a file system without locks; 0: no more.
void SetLockFaultForTesting(int error);

}  // namespace internal
}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_ACCESS_FOLDER_LOCK_H_
