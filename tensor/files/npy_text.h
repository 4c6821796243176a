// Texts in numpy's array files: what numpy.save makes of a str or of bytes.
//
// Read: dtypes '<U5', '>U5' (UTF-32) and '|S5' (bytes, taken as they are) of rank 0, or rank 1 with
// one element; the NULs that fill up the width are left away. Written: '<U5' of rank 0.
// Texts here are UTF-8. Errors begin with the name of the file or member: InvalidArgument for
// arrays of other types, for several texts, for what is not valid Unicode, and for more than
// NpyHeader::kMostCharacters.

#ifndef DTNN_TENSOR_FILES_NPY_TEXT_H_
#define DTNN_TENSOR_FILES_NPY_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tensor/files/npy_header.h"

namespace dtnn {

// From a source of exactly `size` bytes.
absl::StatusOr<std::string> ParseNpyText(NpySource read, int64_t size, std::string_view name);

// The bytes of the whole file.
absl::StatusOr<std::string> SerializeNpyText(std::string_view text, std::string_view name);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NPY_TEXT_H_
