// TensorFlow's record files: one record after the other, each
//
//   uint64 length, masked CRC-32C of it, `length` bytes, masked CRC-32C of them    (little-endian)
//
// Both checksums are verified, that of the length before memory is taken for the record.

#ifndef DTNN_DATA_FORMATS_TF_RECORD_H_
#define DTNN_DATA_FORMATS_TF_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/files/byte_source.h"

namespace dtnn {

// ImageNet's largest image takes a quarter of that.
inline constexpr uint64_t kMaxTfRecordBytes = uint64_t{1} << 26;

// A record with its frame.
std::string TfRecordBytes(std::string_view record);

class TfRecordReader {
 public:
  // A file, plain or gzip. NotFound, PermissionDenied, ... with the path.
  static absl::StatusOr<TfRecordReader> Open(const std::string& path);
  // `name` stands for the path in messages.
  TfRecordReader(std::unique_ptr<ByteSource> source, std::string_view name)
      : source_(std::move(source)), name_(name) {}

  // The next record into `record`; false at the end. DataLoss, with the record's number, for a file
  // that ends within a record and for a wrong checksum; ResourceExhausted for a record that is too
  // long.
  absl::StatusOr<bool> Next(std::vector<uint8_t>& record);
  // "<name>, record 7": the one that Next gave last, counted from 0.
  std::string Place() const;

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  int64_t count_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_TF_RECORD_H_
