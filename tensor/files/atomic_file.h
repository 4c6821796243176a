// Writing a file so that a crash, a full disk or a failed step leaves the old file or the new one,
// never half of one.
//
// The bytes go to a temporary file in the same folder; Commit() syncs it to the disk, renames it
// over `path` and syncs the folder. A file that is not committed vanishes with the object. An
// existing file keeps its permission bits; a new file gets 0666 less the umask. A link stays, and
// the file that it leads to is replaced, or made where it is missing. Folders, devices, pipes, and
// links to what a process has open (/dev/stdout) are refused, and never renamed over. After a
// failed step every further one answers with the same error, which names the file, the step and the
// system's reason. Durability costs two fsyncs: milliseconds on most disks.

#ifndef DTNN_TENSOR_FILES_ATOMIC_FILE_H_
#define DTNN_TENSOR_FILES_ATOMIC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class InputFile;

class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(std::string_view path);
  // With permissions 0600, whatever an existing file has.
  static absl::StatusOr<AtomicFile> CreatePrivate(std::string_view path);
  ~AtomicFile();  // removes the temporary file unless Commit() succeeded
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status Append(std::string_view text) { return Append(std::as_bytes(std::span(text))); }

  // Bytes at a place of their own, for formats that complete a header afterwards. Append()
  // continues after the last byte that was written anywhere.
  absl::Status WriteAt(int64_t offset, std::span<const std::byte> bytes);

  // To be called once. Only when the last step of all (syncing the folder) fails is the new file in
  // place though an error is returned, and the error says so.
  absl::Status Commit();

 private:
  AtomicFile() = default;
  static absl::StatusOr<AtomicFile> Make(std::string_view path, bool only_owner);
  absl::Status Fail(std::string_view step, int error);

  std::string path_;       // as the caller named it, for messages
  std::string target_;     // with links resolved
  std::string temporary_;  // empty once it is renamed
  int file_ = -1, folder_ = -1;
  int64_t size_ = 0;
  absl::Status status_;
};

// Whether the process that wrote this temporary file is gone, on whichever host it was: it would
// hold a lock (flock), but for moments after the file was made and before it is renamed. False
// where there is no such file, and where the file system has no locks.
bool IsAbandoned(const std::string& temporary);

// Writes the whole file in one go.
absl::Status WriteFileAtomically(std::string_view path, std::span<const std::byte> bytes);

// The bytes of a regular file (input_file.h) of at most `max_bytes`; memory is taken only for what
// is really there. FailedPrecondition for a larger file.
absl::StatusOr<std::vector<std::byte>> ReadFile(std::string_view path, int64_t max_bytes);
// The same of one that is open already.
absl::StatusOr<std::vector<std::byte>> ReadFile(const InputFile& file, int64_t max_bytes);

namespace internal {

// The system calls of AtomicFile that a test may let fail: the hook gets the step's name ("open",
// "write", "fsync", "close", "rename", "fsync folder") and returns the errno it shall fail with, or
// 0. For tests without other writers at the same time.
using FileFaultHook = int (*)(std::string_view step);
void SetFileFaultHookForTesting(FileFaultHook hook);

}  // namespace internal
}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_ATOMIC_FILE_H_
