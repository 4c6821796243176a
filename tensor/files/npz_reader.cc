#include <zip.h>

#include <algorithm>
#include <array>

#include "tensor/errors.h"
#include "tensor/files/bytes/in_pieces.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/input_file.h"
#include "tensor/files/npy.h"
#include "tensor/files/npy_text.h"
#include "tensor/files/npz.h"
#include "tensor/files/npz_name.h"

namespace dtnn {
namespace {

// No deflate stream makes more than 1032 bytes of one.
constexpr uint64_t kMaxDeflateRatio = 1032;

absl::Status ZipError(std::string_view file, zip_error_t* error) {
  const std::string text = StrCat(file, ": ", zip_error_strerror(error));
  switch (zip_error_code_zip(error)) {
    case ZIP_ER_CRC:
    case ZIP_ER_ZLIB:
      return DataLoss(text, "; the file is damaged");
    case ZIP_ER_EXISTS:
      return InvalidArgument(file, ": has two members of the same name");
    case ZIP_ER_MEMORY:
      return absl::ResourceExhaustedError(text);
    case ZIP_ER_NOZIP:
    case ZIP_ER_INCONS:
      return InvalidArgument(text, "; is the .npz file complete?");
    default:
      return absl::InvalidArgumentError(text);
  }
}

// `start`: the file's first bytes, which say what it is where it is not a zip archive.
absl::Status OpenError(std::string_view file, int code, std::span<const std::byte> start) {
  const std::string_view contents = KnownContents(start);
  if (code == ZIP_ER_NOZIP && !contents.starts_with("a zip")) {
    return InvalidArgument(file, ": is ", contents.empty() ? "not a zip archive" : contents,
                           "; expected an .npz file, a zip archive");
  }
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const absl::Status status = ZipError(file, &error);
  zip_error_fini(&error);
  return status;
}

// Refuses what is encrypted, compressed otherwise, or lies about its size.
absl::Status CheckMember(std::string_view file, std::string_view name, const zip_stat_t& info) {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  const auto refused = [&](const auto&... what) {
    return InvalidArgument(file, ": member ", Quoted(name), " ", what...);
  };
  if ((info.valid & kNeeded) != kNeeded) return refused("has an incomplete entry");
  if (info.encryption_method != ZIP_EM_NONE) return refused("is encrypted");
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    return refused("is compressed with method ", info.comp_method,
                   "; only stored (0) and deflated (8) ones are read");
  }
  const bool stored = info.comp_method == ZIP_CM_STORE;
  if (stored ? info.size != info.comp_size : info.size / kMaxDeflateRatio > info.comp_size) {
    return refused("claims ", info.size, " bytes in ", info.comp_size);
  }
  return absl::OkStatus();
}

}  // namespace

void NpzReader::Close::operator()(zip* archive) const { zip_discard(archive); }

absl::StatusOr<NpzReader> NpzReader::Open(std::string_view path, int64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  // Which libzip takes for an archive without members.
  if (file.size() == 0) return InvalidArgument(path, ": is empty, not an .npz file");
  int code = 0;
  zip_t* archive = zip_fdopen(file.descriptor(), ZIP_CHECKCONS, &code);
  if (archive == nullptr) {
    std::array<std::byte, kKnownContentsBytes> start;
    DTNN_ASSIGN_OR_RETURN(const size_t count, file.ReadUpTo(0, start));
    return OpenError(path, code, std::span(start).first(count));
  }
  file.Release();
  return Check(NpzReader(path, Archive(archive)), file.size(), max_bytes);
}

absl::StatusOr<NpzReader> NpzReader::Parse(std::span<const std::byte> bytes, std::string_view name,
                                           int64_t max_bytes) {
  if (bytes.empty()) return InvalidArgument(name, ": is empty, not an .npz file");
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr
                       ? nullptr
                       : zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  const absl::Status status =
      archive == nullptr ? OpenError(name, zip_error_code_zip(&error), bytes) : absl::OkStatus();
  if (archive == nullptr && source != nullptr) zip_source_free(source);
  zip_error_fini(&error);
  DTNN_RETURN_IF_ERROR(status);
  return Check(NpzReader(name, Archive(archive)), int64_t(bytes.size()), max_bytes);
}

absl::StatusOr<NpzReader> NpzReader::Check(NpzReader reader, int64_t file_size, int64_t max_bytes) {
  zip_t* archive = reader.archive_.get();
  const std::string& file = reader.file_;
  uint64_t packed = 0, total = 0;
  const uint64_t entries = uint64_t(std::max<zip_int64_t>(0, zip_get_num_entries(archive, 0)));
  for (uint64_t i = 0; i < entries; ++i) {
    const char* raw = zip_get_name(archive, i, ZIP_FL_ENC_RAW);
    zip_stat_t info;
    if (raw == nullptr || zip_stat_index(archive, i, 0, &info) != 0) {
      return ZipError(file, zip_get_error(archive));
    }
    const std::string_view member = raw;
    DTNN_RETURN_IF_ERROR(CheckMemberName(file, member));
    DTNN_RETURN_IF_ERROR(CheckMember(file, member, info));
    // Members that share bytes would let a small file hold more than its size allows.
    if (__builtin_add_overflow(packed, info.comp_size, &packed) || packed > uint64_t(file_size)) {
      return InvalidArgument(file, ": ", "its members claim more bytes than the file has");
    }
    if (__builtin_add_overflow(total, info.size, &total) || total > uint64_t(max_bytes)) {
      return InvalidArgument(file, ": ", "its arrays contain more than the ", max_bytes,
                             " bytes that are allowed");
    }
    const std::string name(member.substr(0, member.size() - kNpyEnding.size()));
    if (!reader.index_.emplace(name, Member{i, int64_t(info.size)}).second) {
      return InvalidArgument(file, ": ", "has two members ", Quoted(member));
    }
    reader.names_.push_back(name);
  }
  return reader;
}

int64_t NpzReader::Bytes(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? 0 : found->second.bytes;
}

absl::Status NpzReader::ReadMember(std::string_view name, Extent extent, ParseMember parse) {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    std::string known;
    for (size_t i = 0; i < std::min<size_t>(names_.size(), 8); ++i) {
      StrAppend(&known, i == 0 ? "; it contains " : ", ", names_[i]);
    }
    return NotFound(file_, ": has no array \"", name, "\"", known,
                    names_.size() > 8 ? ", ..." : "");
  }
  const std::string where = StrCat(file_, "/", name);
  const auto close_member = [](zip_file_t* member) { zip_fclose(member); };
  const std::unique_ptr<zip_file_t, decltype(close_member)> member(
      zip_fopen_index(archive_.get(), found->second.index, 0), close_member);
  if (member == nullptr) return ZipError(where, zip_get_error(archive_.get()));

  // True when `to` was filled; the checksum is verified by the read that meets the end.
  const auto read = [&](std::span<std::byte> to) -> absl::Status {
    const int64_t got = FillInPieces(to, [&](std::span<std::byte> piece) -> int64_t {
      return zip_fread(member.get(), piece.data(), piece.size());
    });
    if (got < 0) return ZipError(where, zip_file_get_error(member.get()));
    if (got == 0) return InvalidArgument(where, ": ends before its size; is the file complete?");
    return absl::OkStatus();
  };
  DTNN_RETURN_IF_ERROR(parse(read, found->second.bytes, where));
  if (extent == Extent::kBegin) return absl::OkStatus();
  char more;
  const zip_int64_t got = zip_fread(member.get(), &more, 1);
  if (got < 0) return ZipError(where, zip_file_get_error(member.get()));
  if (got > 0) return InvalidArgument(where, ": is longer than its size");
  return absl::OkStatus();
}

absl::StatusOr<Tensor> NpzReader::Read(std::string_view name) {
  Tensor tensor;
  const auto parse = [&](NpySource read, int64_t size, std::string_view where) {
    absl::StatusOr<Tensor> parsed = ParseNpyFrom(read, size, where);
    if (parsed.ok()) tensor = *std::move(parsed);
    return parsed.status();
  };
  DTNN_RETURN_IF_ERROR(ReadMember(name, Extent::kWhole, parse));
  return tensor;
}

absl::StatusOr<Shape> NpzReader::ReadShape(std::string_view name) {
  Shape shape;
  const auto parse = [&](NpySource read, int64_t size, std::string_view where) {
    const absl::StatusOr<NpyHeader> header = ReadNpyHeader(read, size, where);
    if (header.ok()) shape = header->shape;
    return header.status();
  };
  DTNN_RETURN_IF_ERROR(ReadMember(name, Extent::kBegin, parse));
  return shape;
}

absl::StatusOr<std::string> NpzReader::ReadText(std::string_view name) {
  std::string text;
  const auto parse = [&](NpySource read, int64_t size, std::string_view where) {
    absl::StatusOr<std::string> parsed = ParseNpyText(read, size, where);
    if (parsed.ok()) text = *std::move(parsed);
    return parsed.status();
  };
  DTNN_RETURN_IF_ERROR(ReadMember(name, Extent::kWhole, parse));
  return text;
}

absl::StatusOr<NamedTensors> ReadNpz(std::string_view path, int64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(path, max_bytes));
  NamedTensors tensors;
  for (const std::string& name : reader.names()) {
    DTNN_ASSIGN_OR_RETURN(Tensor tensor, reader.Read(name));
    tensors.emplace_back(name, std::move(tensor));
  }
  return tensors;
}

}  // namespace dtnn
