#include "data/files/file_bytes.h"

#include "tensor/status_macros.h"

namespace dtnn {

FileBytes::FileBytes(std::vector<uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  view_ = *owner;
  owner_ = owner;
}

absl::StatusOr<FileBytes> FileBytes::Map(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  FileBytes bytes(file, file->bytes());
  bytes.mapped_ = file.get();
  return bytes;
}

FileBytes FileBytes::From(size_t offset) const {
  FileBytes rest = *this;
  rest.view_ = view_.subspan(offset);
  return rest;
}

}  // namespace dtnn
