#include "tensor/text/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "tensor/text/utf8.h"

namespace dtnn {

std::string JsonText(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, Utf8Length(text));
    const auto lead = static_cast<uint8_t>(text[0]);
    if (lead == '"' || lead == '\\') {
      json += {'\\', text[0]};
    } else if (lead == '\n') {
      json += "\\n";
    } else if (lead < 0x20) {
      json += {'\\', 'u', '0', '0', kHex[lead >> 4], kHex[lead & 15]};
    } else if (Utf8Length(text) == 0) {
      json += {'\\', '\\', 'x', kHex[lead >> 4], kHex[lead & 15]};
    } else {
      json.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return json + "\"";
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

}  // namespace dtnn
