#include "apps/printing/command_line.h"

#include <algorithm>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain = "_-+=.,:/@%*";
  const bool plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return letter || (c != '*' && kPlain.find(c) != kPlain.npos);
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

std::string CommandLineOf(const Options& options, int ranks, std::string_view separator) {
  std::string line = "benchmark";
  if (ranks > 1) {
    line = options.transport == "tcp" ? StrCat("launch -n ", ranks, " -- benchmark")
                                      : StrCat("mpirun -np ", ranks, " benchmark");
  }
  for (const OptionSpec& spec : OptionTable()) {
    if (!options.given.contains(spec.name)) continue;
    StrAppend(&line, separator, "--", spec.name, "=", ShellWord(FormatValue(Load(&options, spec))));
  }
  return line;
}

}  // namespace dtnn
