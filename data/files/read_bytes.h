// Reads the bytes of a file, or of a part of one, into memory that is reused. Can be called by
// several threads; every call opens the file again.

#ifndef DTNN_DATA_FILES_READ_BYTES_H_
#define DTNN_DATA_FILES_READ_BYTES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

// Compressed images are far smaller.
inline constexpr uint64_t kMaxImageFileBytes = uint64_t{1} << 30;

// The whole file, or errors as of input_file.h; InvalidArgument for one larger than the limit.
absl::Status ReadBytes(const std::string& path, std::vector<uint8_t>& bytes,
                       uint64_t max_bytes = kMaxImageFileBytes);

// Exactly `bytes.size()` bytes from `offset` on; DataLoss where the file ends before.
absl::Status ReadBytesAt(const std::string& path, uint64_t offset, std::span<uint8_t> bytes);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_READ_BYTES_H_
