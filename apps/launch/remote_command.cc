#include "apps/launch/remote_command.h"

#include "tensor/text/shell_word.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// The program takes the place of the shell, so that its exit code is the command's and signals
// reach it. What waits for signals is its child; where that is not so any more, the rank has ended.
constexpr char kScript[] = R"(
while IFS= read -r line && [ -n "$line" ]; do export "$line"; done
cd "$0" || exit 1
exec 3<&0
(
  rank_runs() { read -r _ _ _ parent _ </proc/self/stat && [ "$parent" = $$ ]; }
  while IFS= read -r line; do rank_runs && kill -s "$line" $$; done
  rank_runs && kill -s TERM $$ && sleep 10
  rank_runs && kill -s KILL $$
) <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@" </dev/null
)";

}  // namespace

std::string RemoteCommand(const std::string& folder, std::span<const std::string> command) {
  std::string line = StrCat("exec sh -c ", ShellWord(kScript), " ", ShellWord(folder));
  for (const std::string& word : command) StrAppend(&line, " ", ShellWord(word));
  return line;
}

}  // namespace dtnn
