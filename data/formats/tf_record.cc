#include "data/formats/tf_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/files/crc32c.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kLengthBytes = 8, kChecksumBytes = 4;

uint64_t LittleEndian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

// `size` bytes of `value`, the lowest first.
void Append(uint64_t value, size_t size, std::string& bytes) {
  for (size_t i = 0; i < size; ++i) bytes += char(value >> (8 * i));
}

uint32_t Checksum(std::string_view bytes) {
  return MaskedCrc32c({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string TfRecordBytes(std::string_view record) {
  std::string bytes;
  bytes.reserve(record.size() + kLengthBytes + 2 * kChecksumBytes);
  Append(record.size(), kLengthBytes, bytes);
  Append(Checksum(bytes), kChecksumBytes, bytes);
  bytes += record;
  Append(Checksum(record), kChecksumBytes, bytes);
  return bytes;
}

absl::StatusOr<TfRecordReader> TfRecordReader::Open(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, FileSource(path));
  DTNN_ASSIGN_OR_RETURN(file, WithContext(Unpacked(std::move(file)), path));
  return TfRecordReader(std::move(file), path);
}

std::string TfRecordReader::Place() const { return StrCat(name_, ", record ", count_ - 1); }

absl::StatusOr<bool> TfRecordReader::Next(std::vector<uint8_t>& record) {
  const auto damaged = [&](const char* what) { return DataLoss(Place(), ": ", what); };
  ++count_;
  std::array<uint8_t, kLengthBytes + kChecksumBytes> head;
  DTNN_ASSIGN_OR_RETURN(size_t read, WithContext(source_->Read(head), Place()));
  if (read == 0) {
    if (source_->truncated()) return damaged("the file is truncated; is the download complete?");
    return false;
  }
  if (read < head.size())
    return damaged("the file ends inside its length; is the download complete?");
  const std::span<const uint8_t> length_bytes = std::span(head).first(kLengthBytes);
  if (LittleEndian(std::span(head).subspan(kLengthBytes)) != MaskedCrc32c(length_bytes)) {
    return damaged(
        "the checksum of its length is wrong; this is not a TFRecord file, or a damaged one");
  }
  const uint64_t length = LittleEndian(length_bytes);
  if (length > kMaxTfRecordBytes) {
    return ResourceExhausted(Place(), ": has ", length, " bytes, more than the ", kMaxTfRecordBytes,
                             " that are allowed");
  }
  if (length > source_->bound())
    return damaged("the file ends inside it; is the download complete?");
  record.resize(length + kChecksumBytes);
  DTNN_ASSIGN_OR_RETURN(read, WithContext(source_->Read(record), Place()));
  if (read < record.size()) return damaged("the file ends inside it; is the download complete?");
  const uint64_t checksum = LittleEndian(std::span(record).subspan(length));
  record.resize(length);
  if (checksum != MaskedCrc32c(record)) return damaged("its checksum is wrong");
  return true;
}

}  // namespace dtnn
