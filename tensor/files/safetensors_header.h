// The header of a .safetensors file: a JSON object, "<name>" -> element type, shape, and where the
// elements lie in the bytes after the header; "__metadata__" -> texts.
//
//   {"__metadata__": {"format": "NHWC"},
//    "w": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}
//
// The parser trusts nothing: it refuses other values than these, keys that stand twice, offsets and
// products beyond 63 bits, a size that is not shape times type, elements that overlap, and bytes
// that belong to nobody. As the format's own library, it takes null for no metadata and ignores
// fields of a tensor that it does not know.
// Format: the documentation of Hugging Face's safetensors. `safetensors.h` reads and writes files.

#ifndef DTNN_TENSOR_FILES_SAFETENSORS_HEADER_H_
#define DTNN_TENSOR_FILES_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32"; of one that is not known here, the size is not checked
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // bytes behind the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  NamedTexts metadata;                    // in the order of the file
};

// `file` stands in front of every error; `data_bytes` is what follows the header.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t data_bytes,
                                                         std::string_view file);

// As JSON. Names and texts must be UTF-8: what is not makes a header that the parser refuses.
std::string FormatSafetensorsHeader(const SafetensorsHeader& header);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_SAFETENSORS_HEADER_H_
