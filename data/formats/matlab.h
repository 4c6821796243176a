// One struct array out of a MATLAB 5 file (.mat), as ImageNet's development kit has one: of the
// fields asked for, the single number or the text that each element holds.
//
// Read: little-endian files of version 0x0100, elements plain or deflated, numbers of any stored
// type, one-dimensional texts. All else in the file is passed over, but for a deflated variable of
// more than 16 MiB, which is an error. The file is not trusted: sizes are compared with what is
// there; at most 131072 rows are read, and one variable at a time is unpacked.
// Format: "MAT-File Format", The MathWorks, level 5.

#ifndef DTNN_DATA_FORMATS_MATLAB_H_
#define DTNN_DATA_FORMATS_MATLAB_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Nothing for an array that is not one number and for a field of another kind.
using MatlabValue = std::variant<std::monostate, double, std::string>;

// One row per element of the struct array `variable`, one value per name in `fields`. Messages
// begin with `name`: InvalidArgument for another format and for a variable or field that is
// missing, DataLoss for damaged or truncated files.
absl::StatusOr<std::vector<std::vector<MatlabValue>>> ReadMatlabStructs(
    std::span<const uint8_t> bytes, std::string_view name, std::string_view variable,
    std::span<const std::string_view> fields);

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_MATLAB_H_
