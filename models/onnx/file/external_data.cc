#include "models/onnx/file/external_data.h"

#include <charconv>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

#include "tensor/errors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<int64_t> Number(const std::string& key, const std::string& text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return InvalidArgument("the ", key, " of its external data is ", Quoted(text),
                         "; expected a whole number of bytes");
}

}  // namespace

absl::StatusOr<const InputFile*> ExternalData::Open(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return &found->second;
  if (model_.empty()) {
    return InvalidArgument("has its data in the file ", Quoted(location),
                           ", but the model was not read from a file");
  }
  const bool plain = !location.empty() &&
                     location.find_first_of(std::string("/\\\0", 3)) == std::string::npos &&
                     location != "." && location != "..";
  if (!plain) {
    return InvalidArgument("has its data in ", Quoted(location),
                           "; they are read only from files in the model's folder, which are named "
                           "without a path");
  }
  const fs::path path = fs::path(model_).parent_path() / location;
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored))) {
    return InvalidArgument(
        "has its data in ", Quoted(location),
        ", which is a link; they are read only from files in the model's folder");
  }
  DTNN_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path.string()));
  return &files_.emplace(location, std::move(file)).first->second;
}

absl::StatusOr<std::string> ExternalData::Read(const onnx::TensorProto& tensor, int64_t size) {
  std::string location;
  int64_t offset = 0, length = size;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    for (const auto& [key, number] : {std::pair("offset", &offset), std::pair("length", &length)}) {
      if (entry.key() != key) continue;
      DTNN_ASSIGN_OR_RETURN(*number, Number(key, entry.value()));
    }
  }
  DTNN_ASSIGN_OR_RETURN(const InputFile* file, Open(location));
  if (length != size) {
    return InvalidArgument("has ", length, " bytes of external data; its shape needs ", size);
  }
  if (offset > file->size() || size > file->size() - offset) {
    return InvalidArgument("has its ", size, " bytes of data at byte ", offset, " of ",
                           Quoted(location), ", which has ", file->size(),
                           "; is the file complete?");
  }
  std::string bytes(size_t(size), '\0');
  DTNN_RETURN_IF_ERROR(file->Read(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

}  // namespace dtnn
