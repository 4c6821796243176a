// The IDX format of MNIST: arrays of unsigned bytes after a big-endian header.
//
//   byte 0, 1   0
//   byte 2      type of the elements; only 8, unsigned byte, is read
//   byte 3      rank, 1 to 4 here
//   4 x rank    extents, outermost first, uint32
//   then        the elements, row-major, to the end of the file
//
// The header is checked against the length of the data before memory is allocated, for gzip against
// the most that so many packed bytes can unpack to; a file that is shorter or longer than its
// header says is refused.
//
// An array takes memory of its own (ReadIdx), or none where a plain file can be mapped (MapIdx).

#ifndef DTNN_DATA_FORMATS_IDX_H_
#define DTNN_DATA_FORMATS_IDX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/files/byte_source.h"
#include "data/files/file_bytes.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace dtnn {

// No known data set in this format comes near it.
inline constexpr uint64_t kMaxIdxBytes = uint64_t{4} << 30;

// A dense uint8 tensor of the extents in the header, from a plain file or gzip (told apart by
// content, not name). Messages begin with the path.
absl::StatusOr<Tensor> ReadIdx(const std::string& path, uint64_t max_bytes = kMaxIdxBytes);

// The same elements, of a plain file where it has them (file_bytes.h).
struct IdxArray {
  Shape shape;
  FileBytes elements;
};
absl::StatusOr<IdxArray> MapIdx(const std::string& path, uint64_t max_bytes = kMaxIdxBytes);

// As ReadIdx from plain or gzip bytes; `name` stands for the path in messages.
absl::StatusOr<Tensor> ParseIdx(std::unique_ptr<ByteSource> bytes, std::string_view name,
                                uint64_t max_bytes = kMaxIdxBytes);

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_IDX_H_
