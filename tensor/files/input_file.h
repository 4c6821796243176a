// A regular file that is open for reading: the one place where files to read are opened.
//
// Pipes, terminals, sockets and devices are refused before they are opened: opening one may wait
// for ever or make the device act. Reading says where to read, so one file may be read by several
// threads. Errors name the path and the system's reason.

#ifndef DTNN_TENSOR_FILES_INPUT_FILE_H_
#define DTNN_TENSOR_FILES_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class InputFile {
 public:
  // NotFound, PermissionDenied, ...; FailedPrecondition for what is not a regular file.
  static absl::StatusOr<InputFile> Open(std::string_view path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }
  // When it was opened. Files of /proc say 0 and hold more.
  int64_t size() const { return size_; }

  // Fills `to` with the bytes from `offset` on and returns how many there were: fewer than asked
  // only at the end of the file.
  absl::StatusOr<size_t> ReadUpTo(int64_t offset, std::span<std::byte> to) const;
  // The same; DataLoss where the file ends before `to` is full.
  absl::Status Read(int64_t offset, std::span<std::byte> to) const;

  // For system calls; stays this object's.
  int descriptor() const { return descriptor_; }
  // For who closes it; this object must not be used any more.
  int Release();

 private:
  InputFile(std::string_view path, int descriptor) : path_(path), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  int64_t size_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_INPUT_FILE_H_
