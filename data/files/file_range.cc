#include "data/files/file_range.h"

#include <algorithm>

#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<FileRange>> FileRange::Open(const std::string& path, uint64_t offset,
                                                           uint64_t size) {
  DTNN_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  const uint64_t length = uint64_t(file.size());
  offset = std::min(offset, length);
  return std::unique_ptr<FileRange>(
      new FileRange(std::move(file), offset, std::min(size, length - offset)));
}

absl::StatusOr<size_t> FileRange::Read(std::span<uint8_t> to) {
  to = to.first(std::min<uint64_t>(to.size(), left_));
  DTNN_ASSIGN_OR_RETURN(const size_t done,
                        file_.ReadUpTo(int64_t(at_), std::as_writable_bytes(to)));
  Skip(done);
  return done;
}

uint64_t FileRange::Skip(uint64_t count) {
  count = std::min(count, left_);
  at_ += count;
  left_ -= count;
  return count;
}

}  // namespace dtnn
