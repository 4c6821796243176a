#include "models/torch/torch_archive.h"

#include <zip.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/errors.h"
#include "tensor/files/bytes/in_pieces.h"
#include "tensor/files/bytes/known_contents.h"

namespace dtnn {
namespace {

// `start`: the file's first bytes, which say what it is.
absl::Status NotAnArchive(std::span<const std::byte> start) {
  constexpr std::string_view kExpected = "a zip archive, as torch.save writes since PyTorch 1.6";
  const std::string_view contents = KnownContents(start);
  if (contents.starts_with("a zip")) {
    return InvalidArgument("begins like ", kExpected,
                           ", but its end is missing or damaged; is the file complete?");
  }
  if (contents.empty() || contents.starts_with("a Python pickle")) {
    return InvalidArgument("is not ", kExpected);
  }
  return InvalidArgument("is ", contents, "; expected ", kExpected);
}

// Which libzip takes for an archive without members.
absl::Status CheckNotEmpty(int64_t size) {
  if (size > 0) return absl::OkStatus();
  return InvalidArgument("is empty; is the file complete?");
}

}  // namespace

void TorchArchive::Close::operator()(zip* archive) const { zip_discard(archive); }

absl::StatusOr<TorchArchive> TorchArchive::Open(const InputFile& file) {
  DTNN_RETURN_IF_ERROR(CheckNotEmpty(file.size()));
  int code = 0;
  zip_t* archive = zip_open(file.path().c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (archive == nullptr) {
    std::array<std::byte, kKnownContentsBytes> start = {};
    DTNN_ASSIGN_OR_RETURN(const size_t count, file.ReadUpTo(0, start));
    return NotAnArchive(std::span(start).first(count));
  }
  return TorchArchive(archive, file.size());
}

absl::StatusOr<TorchArchive> TorchArchive::Parse(std::span<const std::byte> bytes) {
  DTNN_RETURN_IF_ERROR(CheckNotEmpty(int64_t(bytes.size())));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr
                       ? nullptr
                       : zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive == nullptr && source != nullptr) zip_source_free(source);
  zip_error_fini(&error);
  if (archive == nullptr) return NotAnArchive(bytes);
  return TorchArchive(archive, int64_t(bytes.size()));
}

absl::StatusOr<std::string> TorchArchive::Folder() const {
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* raw = zip_get_name(archive_.get(), zip_uint64_t(i), ZIP_FL_ENC_RAW);
    const std::string_view name = raw == nullptr ? "" : raw;
    if (name == kPickle || name.ends_with("/data.pkl")) {
      return std::string(name.substr(0, name.size() - kPickle.size()));
    }
  }
  return InvalidArgument("has no data.pkl: it is not a file that torch.save wrote");
}

bool TorchArchive::Contains(const std::string& name) const {
  return zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW) >= 0;
}

absl::StatusOr<std::string> TorchArchive::Read(const std::string& name, uint64_t most) const {
  zip_stat_t info;
  if (zip_stat(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW, &info) != 0) {
    return InvalidArgument("has no member ", Quoted(name));
  }
  if (info.comp_method != ZIP_CM_STORE || info.encryption_method != ZIP_EM_NONE ||
      info.size != info.comp_size || info.size > most || info.size > uint64_t(size_)) {
    return InvalidArgument("member ", Quoted(name), " is compressed, encrypted or of ", info.size,
                           " bytes; expected at most ", most, ", as torch.save stores them");
  }
  const auto close = [](zip_file_t* member) { zip_fclose(member); };
  const std::unique_ptr<zip_file_t, decltype(close)> member(
      zip_fopen_index(archive_.get(), info.index, 0), close);
  std::string bytes(size_t(info.size), '\0');
  const auto read = [&](std::span<std::byte> piece) -> int64_t {
    return zip_fread(member.get(), piece.data(), piece.size());
  };
  if (member == nullptr || FillInPieces(std::as_writable_bytes(std::span(bytes)), read) != 1) {
    return DataLoss("member ", Quoted(name), " is damaged; is the file complete?");
  }
  char more;  // the checksum is verified by the read that meets the end
  if (zip_fread(member.get(), &more, 1) != 0) {
    return DataLoss("member ", Quoted(name), " has a wrong checksum; the file is damaged");
  }
  return bytes;
}

}  // namespace dtnn
