#include "apps/launch/remote_command.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// The program takes the place of the shell, so that its exit code is the command's and signals
// reach it. What waits for signals is its child; where that is not so any more, the rank has ended.
//
// Login shells of all families must read it as one word in single quotes: in csh these end with a
// line, and "!" is special in them.
constexpr char kScript[] =
    R"(while IFS= read -r line && [ -n "$line" ]; do export "$line"; done; )"
    R"(for line do shift; line=$(printf %bx "$line"); set -- "$@" "${line%x}"; done; )"
    R"(cd "$1" || exit 1; shift; exec 3<&0; ( )"
    R"(rank_runs() { read -r _ _ _ parent _ </proc/self/stat && [ "$parent" = $$ ]; }; )"
    R"(while IFS= read -r line; do rank_runs && kill -s "$line" $$; done; )"
    R"(rank_runs && kill -s TERM $$ && sleep 10; rank_runs && kill -s KILL $$ )"
    R"() <&3 >/dev/null 2>&1 & exec 3<&-; exec "$@" </dev/null)";

// Such a word, of which the script's printf makes `text`.
std::string EscapedWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '/') {
      word += c;
    } else {
      absl::StrAppendFormat(&word, "\\0%03o", static_cast<unsigned char>(c));
    }
  }
  return word + "'";
}

}  // namespace

std::string RemoteCommand(const std::string& folder, std::span<const std::string> command) {
  std::string line = StrCat("exec sh -c '", kScript, "' sh ", EscapedWord(folder));
  for (const std::string& word : command) StrAppend(&line, " ", EscapedWord(word));
  return line;
}

}  // namespace dtnn
