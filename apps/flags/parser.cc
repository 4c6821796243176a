#include "apps/flags/parser.h"

#include <algorithm>
#include <utility>

#include "apps/flags/argument_flags.h"
#include "apps/flags/option_table.h"
#include "apps/flags/validate.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"

namespace dtnn {

Syntax FlagSyntax() {
  return {.options = OptionTable(),
          .aliases = AliasTable(),
          .computed = ComputedValueTable(),
          .others = OtherNameTable()};
}

absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> arguments) {
  const Syntax syntax = FlagSyntax();
  DTNN_ASSIGN_OR_RETURN(Arguments parsed, ParseArguments(arguments, syntax));
  CommandLine command_line = {.action = parsed.action, .help_topic = std::move(parsed.help_topic)};
  if (parsed.action != Action::kRun) return command_line;
  Options& options = command_line.options;
  for (const Setting& setting : parsed.settings) {
    Store(setting.value, *setting.spec, &options);
    options.given.insert(setting.spec->name);
  }
  DTNN_RETURN_IF_ERROR(NameFlags(ValidateOptions(options, command_line.warnings)));
  return command_line;
}

absl::Status CheckName(std::string_view flag, std::string_view value,
                       std::span<const std::string_view> known) {
  constexpr size_t kShownBytes = 80;
  if (std::ranges::find(known, value) != known.end()) return absl::OkStatus();
  const std::string name(flag), shown = OneLine(value, kShownBytes);
  return UsageError("--", name, "=", shown, ": unknown ", name, " \"", shown, "\"",
                    DidYouMean(value, known), " (--", name, "=list shows all ", known.size(), ")");
}

}  // namespace dtnn
