// Bytes in order: of a file, of memory, of what a gzip stream unpacks to. Readers of data sets are
// written against this, so that each reads `x` and `x.gz` alike and is tested without files.
//
// A source knows a bound on what it can still deliver. A reader compares it with what a header
// promises before it allocates, which stops a few hostile bytes from claiming all memory.

#ifndef DTNN_DATA_FILES_BYTE_SOURCE_H_
#define DTNN_DATA_FILES_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace dtnn {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `to` from its start and returns the bytes written: fewer than asked only at the end of
  // the data. Errors in the data do not name the source: callers do.
  virtual absl::StatusOr<size_t> Read(std::span<uint8_t> to) = 0;
  // No more than this many bytes are still to come; exact() says whether that is also their number.
  virtual uint64_t bound() const = 0;
  virtual bool exact() const { return true; }
  // Whether the data ended in the middle of a stream that says where it ends: an unfinished
  // download.
  virtual bool truncated() const { return false; }
};

// The bytes must outlive the source.
std::unique_ptr<ByteSource> MemorySource(std::span<const uint8_t> bytes);

// A regular file; errors as of input_file.h.
absl::StatusOr<std::unique_ptr<ByteSource>> FileSource(const std::string& path);

// Whether the bytes begin with the magic number of gzip.
bool IsGzip(std::span<const uint8_t> bytes);

// What `packed` holds: itself, or, where it begins with the magic number of gzip (RFC 1952), what
// its members unpack to, checksums checked. A stream that is cut short is the end of the data and
// truncated(); damage, and anything after the last member, is DataLoss.
absl::StatusOr<std::unique_ptr<ByteSource>> Unpacked(std::unique_ptr<ByteSource> packed);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_BYTE_SOURCE_H_
