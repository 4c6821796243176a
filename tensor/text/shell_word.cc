#include "tensor/text/shell_word.h"

#include <algorithm>

namespace dtnn {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain = "_-+=.,:/@%";
  const bool plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return letter || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace dtnn
