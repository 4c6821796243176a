// Numbers written as text.

#ifndef DTNN_TENSOR_TEXT_NUMBER_H_
#define DTNN_TENSOR_TEXT_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace dtnn {

// The number that the whole of `text` is, in decimal digits: without blanks, without a '+'. Nothing
// for other texts, and for numbers that T cannot hold. "nan" and "inf" are floating-point numbers.
template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_NUMBER_H_
