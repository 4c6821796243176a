#include "tensor/text/json_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "tensor/text/one_line.h"

namespace dtnn {

std::string JsonText(std::string_view text) {
  std::string json = "\"";
  for (const char c : OneLine(text, std::numeric_limits<size_t>::max())) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

}  // namespace dtnn
