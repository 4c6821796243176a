// Text of any origin for the middle of a message.

#ifndef DTNN_TENSOR_TEXT_ONE_LINE_H_
#define DTNN_TENSOR_TEXT_ONE_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace dtnn {

// `text` fit for the middle of a one-line message: control characters and broken UTF-8 become
// escapes, and what is longer than `limit` bytes is cut and ends in "...".
std::string OneLine(std::string_view text, size_t limit = 2000);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_ONE_LINE_H_
