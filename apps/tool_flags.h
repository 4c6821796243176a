// The flags of a small tool: a handful, each bound to a variable. (The launcher's many are in
// flags/.)
//
//   const ToolFlag flags[] = {{"input", &options.input, "folder to read"}, ...};
//   DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, flags));
//
// --name=value or --name value, booleans also bare; dashes and underscores are the same, the last
// of several wins. Unknown names and values that do not fit are usage errors.

#ifndef DTNN_APPS_TOOL_FLAGS_H_
#define DTNN_APPS_TOOL_FLAGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

struct ToolFlag {
  std::string_view name;
  std::variant<std::string*, bool*, int64_t*, double*> value;  // holds the default
  std::string_view help;                                       // one line
  int64_t least = 0;                                           // of numbers
};

// True when --help was asked for. `arguments` without the program's name. What is no flag, and all
// behind "--", goes to `others`, such as the files to work on; null: a usage error.
absl::StatusOr<bool> ParseToolFlags(std::span<const std::string> arguments,
                                    std::span<const ToolFlag> flags,
                                    std::vector<std::string>* others = nullptr);

// `summary`, then a line per flag with its default.
std::string ToolHelp(std::string_view summary, std::span<const ToolFlag> flags);

}  // namespace dtnn

#endif  // DTNN_APPS_TOOL_FLAGS_H_
