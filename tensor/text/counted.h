// Numbers of things in messages: "1 thread", "2 threads".

#ifndef DTNN_TENSOR_TEXT_COUNTED_H_
#define DTNN_TENSOR_TEXT_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace dtnn {

// `plural`: of words that do not just get an "s".
inline std::string Counted(int64_t count, std::string_view noun, std::string_view plural = {}) {
  std::string text = std::to_string(count) + " ";
  text += count == 1 || plural.empty() ? noun : plural;
  if (count != 1 && plural.empty()) text += "s";
  return text;
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_COUNTED_H_
