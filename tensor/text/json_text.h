// Texts and numbers as JSON (RFC 8259) writes them, for programs that print a little of it.

#ifndef DTNN_TENSOR_TEXT_JSON_TEXT_H_
#define DTNN_TENSOR_TEXT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace dtnn {

// In quotes; reads back as the same text, but for bytes that are not UTF-8, which JSON cannot hold:
// they become the text \xNN.
std::string JsonText(std::string_view text);
// The shortest text that reads back as the same number; null for NaN and infinities.
std::string JsonNumber(double value);

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_JSON_TEXT_H_
