#include "tensor/text/one_line.h"

#include <cstdint>

namespace dtnn {
namespace {

// Bytes of the well-formed UTF-8 sequence that `text` starts with; 0 if there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // U+0080..U+009F are control characters as well.
  return lead == 0xc2 && byte(1) < 0xa0 ? 0 : length;
}

}  // namespace

std::string OneLine(std::string_view text, size_t limit) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    if (line.size() >= limit) return line + "...";
    const size_t length = Utf8Length(text);
    const uint8_t lead = static_cast<uint8_t>(text[0]);
    if (length == 0 || lead < 0x20 || lead == 0x7f) {
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
