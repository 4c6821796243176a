#include "data/files/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "data/files/byte_source.h"
#include "data/files/file_range.h"
#include "tensor/errors.h"
#include "tensor/files/bytes/known_contents.h"

namespace dtnn {
namespace {

constexpr size_t kChunk = size_t{1} << 18;

enum class Kind : uint8_t { kTar, kPackedTar, kZip };

// By the first bytes. A .zip begins with a member or, empty, with its directory.
Kind KindOf(std::span<const uint8_t> start) {
  const auto begins_with = [&](std::string_view magic) {
    return start.size() >= magic.size() &&
           std::memcmp(start.data(), magic.data(), magic.size()) == 0;
  };
  if (begins_with("\x1f\x8b")) return Kind::kPackedTar;
  return begins_with("PK\3\4") || begins_with("PK\5\6") ? Kind::kZip : Kind::kTar;
}

struct FreeArchive {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

// `name` without "./" and doubled slashes; empty for one that leads out of the archive.
std::string SafeName(std::string_view name) {
  std::string safe;
  if (name.empty() || name.front() == '/') return safe;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") return "";
    if (!safe.empty()) safe += '/';
    safe += part;
  }
  return safe;
}

}  // namespace

class ArchiveReader::Impl {
 public:
  Impl(std::string name, const ArchiveLimits& limits) : name_(std::move(name)), limits_(limits) {}

  absl::Status OpenTar(std::unique_ptr<ByteSource> source, FileRange* plain, uint64_t begin);
  absl::Status OpenZipFile(const std::string& path);
  absl::Status OpenZip(std::span<const uint8_t> bytes);
  // For the message about what turns out not to be an archive.
  void LookAtStart(std::span<const uint8_t> start) {
    if (KindOf(start) == Kind::kTar) contents_ = KnownContents(std::as_bytes(start));
  }

  absl::StatusOr<bool> Next() {
    if (!status_.ok()) return status_;
    absl::StatusOr<bool> more = Advance();
    if (!more.ok()) status_ = more.status();
    return more;
  }
  absl::StatusOr<size_t> Read(std::span<uint8_t> to) {
    if (!status_.ok()) return status_;
    absl::StatusOr<size_t> count = Fill(to);
    if (!count.ok()) status_ = count.status();
    return count;
  }
  absl::StatusOr<std::vector<uint8_t>> ReadAll();

  const std::string& member() const { return member_; }
  uint64_t size() const { return size_; }
  std::optional<uint64_t> offset() const {
    if (plain_ == nullptr) return std::nullopt;
    return offset_;
  }

 private:
  static la_ssize_t Supply(archive* handle, void* self, const void** bytes);
  static la_int64_t Leap(archive* handle, void* self, la_int64_t count);

  absl::Status Allocate(bool tar);
  absl::StatusOr<bool> Advance();
  // Whether the entry is a file that may be given out; then member_, size_ and offset_ are set.
  absl::StatusOr<bool> Accept(archive_entry* entry);
  absl::StatusOr<size_t> Fill(std::span<uint8_t> to);
  absl::Status CheckEnd();
  absl::Status Unpack(uint64_t count);  // counts it against the limit

  std::string Where() const {
    return member_.empty() ? name_ : StrCat(name_, ": ", absl::CHexEscape(member_));
  }
  absl::Status Broken() const;

  const std::string name_;
  const ArchiveLimits limits_;
  std::unique_ptr<ByteSource> source_;  // of a .tar; a .zip is read by libarchive itself
  FileRange* plain_ = nullptr;          // source_, where it is a file that is not packed
  uint64_t begin_ = 0;                  // of the archive in that file
  std::vector<uint8_t> chunk_;
  std::string_view contents_;   // what its first bytes say it is, if anything
  absl::Status supply_status_;  // why Supply failed
  std::unique_ptr<archive, FreeArchive> handle_;

  std::string member_;
  uint64_t size_ = 0, given_ = 0, offset_ = 0;
  uint64_t unpacked_ = 0;
  int64_t members_ = 0;
  bool ended_ = false;
  absl::Status status_;  // the first error
};

absl::Status ArchiveReader::Impl::Allocate(bool tar) {
  handle_.reset(archive_read_new());
  if (handle_ == nullptr) {
    return ResourceExhausted(name_, ": not enough memory to read the archive");
  }
  if (tar) {
    archive_read_support_format_tar(handle_.get());
  } else {
    archive_read_support_format_zip_seekable(handle_.get());
  }
  return absl::OkStatus();
}

absl::Status ArchiveReader::Impl::OpenTar(std::unique_ptr<ByteSource> source, FileRange* plain,
                                          uint64_t begin) {
  DTNN_RETURN_IF_ERROR(Allocate(true));
  source_ = std::move(source);
  plain_ = plain;
  begin_ = begin;
  chunk_.resize(kChunk);
  if (archive_read_open2(handle_.get(), this, nullptr, Supply, plain != nullptr ? Leap : nullptr,
                         nullptr) != ARCHIVE_OK) {
    return Broken();
  }
  return absl::OkStatus();
}

absl::Status ArchiveReader::Impl::OpenZipFile(const std::string& path) {
  DTNN_RETURN_IF_ERROR(Allocate(false));
  if (archive_read_open_filename(handle_.get(), path.c_str(), kChunk) != ARCHIVE_OK) {
    return Broken();
  }
  return absl::OkStatus();
}

absl::Status ArchiveReader::Impl::OpenZip(std::span<const uint8_t> bytes) {
  DTNN_RETURN_IF_ERROR(Allocate(false));
  if (archive_read_open_memory(handle_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    return Broken();
  }
  return absl::OkStatus();
}

la_ssize_t ArchiveReader::Impl::Supply(archive* handle, void* self, const void** bytes) {
  Impl& reader = *static_cast<Impl*>(self);
  absl::StatusOr<size_t> count = reader.source_->Read(reader.chunk_);
  if (count.ok()) reader.supply_status_ = reader.Unpack(*count);
  if (!count.ok()) reader.supply_status_ = WithContext(count.status(), reader.Where());
  if (!reader.supply_status_.ok()) {
    archive_set_error(handle, EIO, "no more bytes");
    return ARCHIVE_FATAL;
  }
  *bytes = reader.chunk_.data();
  return la_ssize_t(*count);
}

la_int64_t ArchiveReader::Impl::Leap(archive*, void* self, la_int64_t count) {
  if (count <= 0) return 0;
  return la_int64_t(static_cast<Impl*>(self)->plain_->Skip(uint64_t(count)));
}

absl::Status ArchiveReader::Impl::Unpack(uint64_t count) {
  unpacked_ += count;
  if (unpacked_ <= limits_.total_bytes) return absl::OkStatus();
  return ResourceExhausted(
      Where(), ": the archive unpacks to more than ", limits_.total_bytes,
      " bytes, which is more than expected; is it the right archive, and is it "
      "intact?");
}

absl::Status ArchiveReader::Impl::Broken() const {
  if (!supply_status_.ok()) return supply_status_;
  const char* reason = archive_error_string(handle_.get());
  const std::string what = reason != nullptr ? reason : "unknown reason";
  if (source_ != nullptr && source_->truncated()) {
    return DataLoss(Where(), ": the archive is truncated (", what,
                    "); is the download complete? Download it again");
  }
  if (members_ == 0 && !contents_.empty()) {
    return InvalidArgument(name_, ": is ", contents_, "; expected a .tar, .tar.gz or .zip archive");
  }
  return DataLoss(Where(), ": cannot be read as .tar, .tar.gz or .zip (", what,
                  "); is the download complete?");
}

absl::StatusOr<bool> ArchiveReader::Impl::Advance() {
  while (!ended_) {
    archive_entry* entry = nullptr;
    member_.clear();
    const int result = archive_read_next_header(handle_.get(), &entry);
    if (result == ARCHIVE_EOF) {
      ended_ = true;
      DTNN_RETURN_IF_ERROR(CheckEnd());
      break;
    }
    // A warning is about attributes, such as a name that the locale cannot show.
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return Broken();
    if (++members_ > limits_.members) {
      return ResourceExhausted(name_, ": contains more than ", limits_.members, " members");
    }
    DTNN_ASSIGN_OR_RETURN(const bool accepted, Accept(entry));
    if (accepted) return true;
  }
  return false;
}

absl::StatusOr<bool> ArchiveReader::Impl::Accept(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) {
    return InvalidArgument(name_, ": the name of member ", members_, " cannot be read");
  }
  const bool file = archive_entry_filetype(entry) == AE_IFREG &&
                    archive_entry_hardlink(entry) == nullptr &&
                    archive_entry_symlink(entry) == nullptr;
  member_ = SafeName(name);
  if (member_.empty()) {
    if (!file && std::strspn(name, "./") == std::strlen(name) && name[0] == '.' && name[1] != '.') {
      return false;  // "./" itself
    }
    return InvalidArgument(
        name_, ": the member ", Quoted(name),
        " has a name that points outside of the archive; do not trust this archive");
  }
  if (!file) return false;
  if (archive_entry_is_encrypted(entry) != 0) {
    return InvalidArgument(Where(), ": is encrypted");
  }
  if (archive_entry_sparse_count(entry) > 0 || archive_entry_size_is_set(entry) == 0) {
    return InvalidArgument(
        Where(), ": is stored as a sparse file or without its size; store it as a plain file");
  }
  const la_int64_t size = archive_entry_size(entry);
  if (size < 0 || uint64_t(size) > limits_.member_bytes) {
    return ResourceExhausted(Where(), ": is ", size, " bytes long; at most ", limits_.member_bytes,
                             " are expected");
  }
  size_ = uint64_t(size);
  given_ = 0;
  offset_ = begin_ + uint64_t(archive_filter_bytes(handle_.get(), 0));
  return true;
}

absl::StatusOr<size_t> ArchiveReader::Impl::Fill(std::span<uint8_t> to) {
  if (member_.empty()) return 0;
  size_t done = 0;
  while (done < to.size()) {
    const la_ssize_t count =
        archive_read_data(handle_.get(), to.data() + done, std::min(to.size() - done, kChunk));
    if (count < 0) return Broken();
    if (source_ == nullptr) DTNN_RETURN_IF_ERROR(Unpack(uint64_t(count)));
    done += size_t(count);
    given_ += uint64_t(count);
    if (count == 0 || given_ > size_) break;
  }
  if (given_ > size_ || (done < to.size() && given_ < size_)) {
    return DataLoss(Where(), ": contains ", given_ > size_ ? "more" : "fewer", " than the ", size_,
                    " bytes that its header states");
  }
  return done;
}

absl::StatusOr<std::vector<uint8_t>> ArchiveReader::Impl::ReadAll() {
  std::vector<uint8_t> bytes;
  for (;;) {
    const size_t begin = bytes.size();
    const uint64_t left = size_ - given_;
    // One byte more than is left, so that the end is met and its checksum looked at.
    bytes.resize(begin + std::min<uint64_t>(left + 1, std::max<size_t>(4 * kChunk, begin)));
    DTNN_ASSIGN_OR_RETURN(const size_t count, Read(std::span(bytes).subspan(begin)));
    if (begin + count < bytes.size()) {
      bytes.resize(begin + count);
      return bytes;
    }
  }
}

// A .tar ends before its file does: only reading on shows whether gzip's checksum is right.
absl::Status ArchiveReader::Impl::CheckEnd() {
  if (source_ == nullptr || plain_ != nullptr) return absl::OkStatus();
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const size_t count, WithContext(source_->Read(chunk_), name_));
    if (count == 0) break;
    DTNN_RETURN_IF_ERROR(Unpack(count));
  }
  if (!source_->truncated()) return absl::OkStatus();
  return DataLoss(name_, ": the gzip data is truncated; download it again");
}

ArchiveReader::ArchiveReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

absl::StatusOr<ArchiveReader> ArchiveReader::Open(const std::string& path,
                                                  const ArchiveLimits& limits) {
  return OpenRange(path, 0, ~uint64_t{0}, limits);
}

absl::StatusOr<ArchiveReader> ArchiveReader::OpenRange(const std::string& path, uint64_t offset,
                                                       uint64_t size, const ArchiveLimits& limits) {
  std::array<uint8_t, kKnownContentsBytes> start = {};
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<FileRange> file,
                        FileRange::Open(path, offset, sizeof(start)));
  DTNN_ASSIGN_OR_RETURN(const size_t count, file->Read(start));
  const Kind kind = KindOf(std::span(start).first(count));
  DTNN_ASSIGN_OR_RETURN(file, FileRange::Open(path, offset, size));
  auto impl = std::make_unique<Impl>(path, limits);
  impl->LookAtStart(std::span(start).first(count));
  if (kind == Kind::kPackedTar) {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> unpacked, Unpacked(std::move(file)));
    DTNN_RETURN_IF_ERROR(impl->OpenTar(std::move(unpacked), nullptr, 0));
  } else if (kind == Kind::kZip && offset == 0) {
    DTNN_RETURN_IF_ERROR(impl->OpenZipFile(path));
  } else {
    FileRange* plain = file.get();
    DTNN_RETURN_IF_ERROR(impl->OpenTar(std::move(file), plain, offset));
  }
  return ArchiveReader(std::move(impl));
}

absl::StatusOr<ArchiveReader> ArchiveReader::Parse(std::span<const uint8_t> bytes,
                                                   std::string_view name,
                                                   const ArchiveLimits& limits) {
  auto impl = std::make_unique<Impl>(std::string(name), limits);
  impl->LookAtStart(bytes);
  if (KindOf(bytes) == Kind::kZip) {
    DTNN_RETURN_IF_ERROR(impl->OpenZip(bytes));
  } else {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, Unpacked(MemorySource(bytes)));
    DTNN_RETURN_IF_ERROR(impl->OpenTar(std::move(source), nullptr, 0));
  }
  return ArchiveReader(std::move(impl));
}

absl::StatusOr<bool> ArchiveReader::Next() { return impl_->Next(); }
const std::string& ArchiveReader::member() const { return impl_->member(); }
uint64_t ArchiveReader::size() const { return impl_->size(); }
std::optional<uint64_t> ArchiveReader::offset() const { return impl_->offset(); }
absl::StatusOr<size_t> ArchiveReader::Read(std::span<uint8_t> to) { return impl_->Read(to); }
absl::StatusOr<std::vector<uint8_t>> ArchiveReader::ReadAll() { return impl_->ReadAll(); }

}  // namespace dtnn
