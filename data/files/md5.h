// MD5 sums (RFC 1321), which data sets are published with. They find broken downloads; they do not
// protect from forgery.

#ifndef DTNN_DATA_FILES_MD5_H_
#define DTNN_DATA_FILES_MD5_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace dtnn {

struct Digest {
  uint64_t bytes = 0;
  std::string md5;  // 32 hexadecimal digits
};

// The digest of all bytes that `read` gives: it fills the span and returns how many it wrote, fewer
// than asked only at the end. Errors are those of `read`.
absl::StatusOr<Digest> Md5(absl::FunctionRef<absl::StatusOr<size_t>(std::span<uint8_t>)> read);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_MD5_H_
