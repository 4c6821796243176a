// The bytes of a file, in memory of their own or where the system keeps them anyway.
//
// A mapped file takes memory once for all processes of a machine: the ranks of a run share it, and
// what is not used is given back under pressure. That is for large files that are read in any
// order; bytes that were unpacked are each process's own.
//
// A mapped file must stay as it is. What replaces it as a whole (a rename) is not seen. What is
// written into it is, later than any check: whatever memory safety depends on, such as a label that
// is an index, is to be copied before it is checked. Where it is cut short, or its device fails,
// reading ends the process with SIGBUS.

#ifndef DTNN_DATA_FILE_BYTES_H_
#define DTNN_DATA_FILE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::vector<uint8_t> bytes);
  // Bytes that live as long as `owner`.
  FileBytes(std::shared_ptr<const void> owner, std::span<const uint8_t> view)
      : owner_(std::move(owner)), view_(view) {}
  // The regular file as a whole, which the system begins to read. NotFound, PermissionDenied, ...
  // with the path in the message.
  static absl::StatusOr<FileBytes> Map(const std::string& path);

  std::span<const uint8_t> view() const { return view_; }
  const uint8_t* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // Whether they are a file's own pages.
  bool mapped() const { return mapped_; }
  // Those from `offset` on, of the same owner; within size().
  FileBytes From(size_t offset) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const uint8_t> view_;
  bool mapped_ = false;
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILE_BYTES_H_
