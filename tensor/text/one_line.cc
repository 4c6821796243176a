#include "tensor/text/one_line.h"

#include <cstdint>

#include "tensor/text/utf8.h"

namespace dtnn {
namespace {

// Whether the character of `length` bytes that `text` begins with is neither a control character,
// of one byte or two, nor no UTF-8.
bool IsPrintable(std::string_view text, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (length == 2) return byte(0) != 0xc2 || byte(1) >= 0xa0;
  return length > 0 && byte(0) >= 0x20 && byte(0) != 0x7f;
}

}  // namespace

std::string OneLine(std::string_view text, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    if (line.size() >= limit) return line + "...";
    const size_t length = Utf8Length(text);
    const uint8_t lead = static_cast<uint8_t>(text[0]);
    if (!IsPrintable(text, length)) {
      if (lead == '\n') {
        line += "\\n";
      } else {
        line += {'\\', 'x', kHex[lead >> 4], kHex[lead & 15]};
      }
      text.remove_prefix(1);
    } else {
      line.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return line;
}

}  // namespace dtnn
