// The bytes of a file, in a buffer or mapped into memory.
//
// A mapped file takes memory once for all processes of a machine: the ranks of a run share it, and
// what is not used is given back under pressure. That is for large files that are read in any
// order; bytes that were unpacked are each process's own.
//
// A mapped file must not change. Replacing the whole file (a rename) has no effect. Bytes that are
// written into it are seen, and if it is truncated, the missing bytes read as zeros: callers must
// call Check() after reading, before they use the bytes (mapped_file.h).

#ifndef DTNN_DATA_FILES_FILE_BYTES_H_
#define DTNN_DATA_FILES_FILE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/files/mapped_file.h"

namespace dtnn {

class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::vector<uint8_t> bytes);
  // Bytes that live as long as `owner`.
  FileBytes(std::shared_ptr<const void> owner, std::span<const uint8_t> view)
      : owner_(std::move(owner)), view_(view) {}
  // The file as a whole, which the system begins to read; errors as of input_file.h.
  static absl::StatusOr<FileBytes> Map(const std::string& path);

  std::span<const uint8_t> view() const { return view_; }
  const uint8_t* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // Whether they are a file's own pages.
  bool mapped() const { return mapped_ != nullptr; }
  // DataLoss once bytes of a mapped file could not be read, since it was cut or its disk failed.
  absl::Status Check() const { return mapped() ? mapped_->Check() : absl::OkStatus(); }
  // Those from `offset` on, of the same owner; within size().
  FileBytes From(size_t offset) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const uint8_t> view_;
  const MappedFile* mapped_ = nullptr;  // the owner, where it is one
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_FILE_BYTES_H_
