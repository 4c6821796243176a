// Well-formed UTF-8, as RFC 3629 (section 4) defines it: no overlong sequences, no surrogates,
// nothing above U+10FFFF.

#ifndef DTNN_TENSOR_TEXT_UTF8_H_
#define DTNN_TENSOR_TEXT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace dtnn {

// Bytes of the character that `text`, which is not empty, begins with; 0 if that is none.
size_t Utf8Length(std::string_view text);
// Whether all of it is.
bool IsUtf8(std::string_view text);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_UTF8_H_
