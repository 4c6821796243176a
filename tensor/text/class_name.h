// The rule for the name of a class, wherever it comes from (a file, a peer): it is printed to
// terminals and stored in files, so it must be text of one line.

#ifndef DTNN_TENSOR_TEXT_CLASS_NAME_H_
#define DTNN_TENSOR_TEXT_CLASS_NAME_H_

#include <cstddef>
#include <string_view>

namespace dtnn {

inline constexpr size_t kMostClassNameBytes = 255;  // as names of folders on Linux

// Whether it is UTF-8 of 1 to kMostClassNameBytes bytes without control characters (C0, DEL, C1).
bool IsClassName(std::string_view name);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_CLASS_NAME_H_
