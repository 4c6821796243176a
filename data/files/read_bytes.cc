#include "data/files/read_bytes.h"

#include "tensor/errors.h"
#include "tensor/files/input_file.h"

namespace dtnn {

absl::Status ReadBytes(const std::string& path, std::vector<uint8_t>& bytes, uint64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (uint64_t(file.size()) > max_bytes) {
    return InvalidArgument(path, ": has ", file.size(), " bytes, more than the ", max_bytes,
                           " that are allowed");
  }
  bytes.resize(size_t(file.size()));
  return file.Read(0, std::as_writable_bytes(std::span(bytes)));
}

absl::Status ReadBytesAt(const std::string& path, uint64_t offset, std::span<uint8_t> bytes) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  return file.Read(int64_t(offset), std::as_writable_bytes(bytes));
}

}  // namespace dtnn
