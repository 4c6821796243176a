// A range of a file as a source of bytes that can be leapt over: what ArchiveReader reads a plain
// .tar through.

#ifndef DTNN_DATA_FILES_FILE_RANGE_H_
#define DTNN_DATA_FILES_FILE_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "data/files/byte_source.h"
#include "tensor/files/input_file.h"

namespace dtnn {

class FileRange : public ByteSource {
 public:
  // The bytes [offset, offset + size) of a regular file, as far as it has them; errors as of
  // input_file.h.
  static absl::StatusOr<std::unique_ptr<FileRange>> Open(const std::string& path, uint64_t offset,
                                                         uint64_t size);

  absl::StatusOr<size_t> Read(std::span<uint8_t> to) override;
  uint64_t bound() const override { return left_; }
  // Skips the next `count` bytes, at most to the end; returns how many bytes that were.
  uint64_t Skip(uint64_t count);

 private:
  FileRange(InputFile file, uint64_t begin, uint64_t size)
      : file_(std::move(file)), at_(begin), left_(size) {}

  const InputFile file_;
  uint64_t at_, left_;
};

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_FILE_RANGE_H_
