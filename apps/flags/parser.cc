#include "apps/flags/parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"
#include "apps/flags/nearest.h"
#include "apps/flags/option_table.h"
#include "apps/flags/validate.h"
#include "apps/flags/value.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr size_t kShownBytes = 80;  // of a value, in messages

// A name on the command line, understood.
struct Spelling {
  std::string name;  // as typed, with dashes, without "no"
  const OptionSpec* spec = nullptr;
  const OptionAlias* alias = nullptr;
  bool negated = false;  // --noflag
};

// What the last use of one spelling said.
struct Assignment {
  std::string name;
  std::string shown;  // --name=value
  const OptionSpec* spec;
  std::optional<Value> value;  // nothing: leaves the option alone
};

bool IsBoolean(const Spelling& spelling) {
  return spelling.spec->is_switch() ||
         (spelling.alias && spelling.alias->kind == AliasKind::kWhenTrue);
}

absl::Status UnknownFlag(const std::string& name) {
  for (const ComputedValue& computed : ComputedValueTable()) {
    if (name == computed.name) {
      return UsageError(
          absl::StrCat("--", name, ": cannot be set; ", std::string(computed.advice)));
    }
  }
  std::vector<std::string_view> known = {"help"};
  for (const OptionSpec& spec : OptionTable()) known.push_back(spec.name);
  for (const OptionAlias& alias : AliasTable()) known.push_back(alias.old_name);
  const std::optional<std::string_view> nearest = NearestName(name, known);
  return UsageError(absl::StrCat(
      "--", OneLine(name, kShownBytes), ": no such option; ",
      nearest ? absl::StrCat("did you mean --", std::string(*nearest), "? ") : std::string(),
      "(--help lists all)"));
}

std::optional<Spelling> FindSpelling(std::string_view name) {
  if (const OptionSpec* spec = FindOption(name)) return Spelling{std::string(name), spec};
  if (const OptionAlias* alias = FindAlias(name)) {
    return Spelling{std::string(name), FindOption(alias->name), alias};
  }
  return std::nullopt;
}

absl::StatusOr<Spelling> Resolve(const std::string& name) {
  if (std::optional<Spelling> spelling = FindSpelling(name)) return *std::move(spelling);
  if (name.starts_with("no")) {
    const size_t prefix = name.starts_with("no-") ? 3 : 2;
    std::optional<Spelling> spelling = FindSpelling(std::string_view(name).substr(prefix));
    if (spelling && IsBoolean(*spelling)) {
      spelling->negated = true;
      return *std::move(spelling);
    }
  }
  return UnknownFlag(name);
}

// The value that `text` means under this spelling.
absl::StatusOr<std::optional<Value>> Interpret(const Spelling& spelling, std::string_view text) {
  const OptionAlias* alias = spelling.alias;
  if (alias && alias->kind == AliasKind::kWhenTrue) {
    const OptionSpec boolean = {.type = OptionType::kBool, .documented_default = "False"};
    DTNN_ASSIGN_OR_RETURN(const Value says, ParseValue(boolean, text));
    if (!std::get<bool>(says)) return std::optional<Value>();
    text = alias->value;
  }
  DTNN_ASSIGN_OR_RETURN(Value value, ParseValue(*spelling.spec, text));
  if (alias && alias->kind == AliasKind::kInvert && std::holds_alternative<bool>(value)) {
    value = !std::get<bool>(value);
  }
  return std::optional<Value>(std::move(value));
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> arguments) : arguments_(arguments) {}

  absl::StatusOr<CommandLine> Run() {
    while (next_ < arguments_.size() && command_line_.action == Action::kRun) {
      const std::string_view argument = arguments_[next_++];
      if (argument == "--") break;
      DTNN_RETURN_IF_ERROR(Take(argument));
    }
    if (command_line_.action != Action::kRun) return std::move(command_line_);
    if (next_ < arguments_.size()) return NotAnOption(arguments_[next_]);
    DTNN_RETURN_IF_ERROR(Fold());
    DTNN_RETURN_IF_ERROR(ValidateOptions(given_, command_line_.options, command_line_.warnings));
    return std::move(command_line_);
  }

 private:
  static absl::Status NotAnOption(std::string_view argument) {
    return UsageError(absl::StrCat("argument \"", OneLine(argument, kShownBytes),
                                   "\": is no option; write --name=value (--help lists all)"));
  }

  absl::Status Take(std::string_view argument) {
    if (argument == "-h") {
      command_line_.action = Action::kHelp;
      return absl::OkStatus();
    }
    if (!argument.starts_with("--")) return NotAnOption(argument);
    const size_t equals = argument.find('=');
    std::string name(argument.substr(2, equals == argument.npos ? equals : equals - 2));
    std::ranges::replace(name, '_', '-');
    std::optional<std::string_view> text;
    if (equals != argument.npos) text = argument.substr(equals + 1);
    if (name == "help") {
      command_line_.action = Action::kHelp;
      command_line_.help_topic = text.value_or("");
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(const Spelling spelling, Resolve(name));
    DTNN_ASSIGN_OR_RETURN(text, TextFor(spelling, text));
    return Assign(spelling, *text);
  }

  // The value's text: after '=', or the next argument, or implied.
  absl::StatusOr<std::optional<std::string_view>> TextFor(const Spelling& spelling,
                                                          std::optional<std::string_view> text) {
    const bool more = next_ < arguments_.size();
    if (spelling.negated) {
      if (!text) return std::optional<std::string_view>("false");
      return UsageError(absl::StrCat("--no", spelling.name, "=", OneLine(*text, kShownBytes),
                                     ": takes no value; write --", spelling.name, " or --no",
                                     spelling.name));
    }
    if (text) return text;
    if (IsBoolean(spelling)) {
      if (more && ParseBool(arguments_[next_])) return std::optional(Next());
      return std::optional<std::string_view>("true");
    }
    if (more && !arguments_[next_].starts_with("--")) return std::optional(Next());
    return UsageError(
        absl::StrCat("--", spelling.name, ": needs a value: ", DescribeAllowed(*spelling.spec)));
  }

  std::string_view Next() { return arguments_[next_++]; }

  absl::Status Assign(const Spelling& spelling, std::string_view text) {
    const OptionSpec& spec = *spelling.spec;
    if (!spelling.alias && text == "list" && (spec.name == "model" || spec.name == "dataset")) {
      command_line_.action = spec.name == "model" ? Action::kListModels : Action::kListDatasets;
      return absl::OkStatus();
    }
    std::string shown = absl::StrCat("--", spelling.name, "=", OneLine(text, kShownBytes));
    absl::StatusOr<std::optional<Value>> value = Interpret(spelling, text);
    if (!value.ok()) {
      return UsageError(absl::StrCat(shown, ": ", std::string(value.status().message())));
    }
    if (!spec.available() && *value && !IsHarmless(spec, **value)) {
      return UsageError(absl::StrCat("--", spelling.name, ": not available in this build yet"));
    }
    Assignment assignment{spelling.name, std::move(shown), &spec, *std::move(value)};
    const auto it = std::ranges::find(assignments_, spelling.name, &Assignment::name);
    if (it == assignments_.end()) {
      assignments_.push_back(std::move(assignment));
    } else {
      *it = std::move(assignment);
    }
    return absl::OkStatus();
  }

  // Several spellings to one value each, into the options.
  absl::Status Fold() {
    for (const Assignment& assignment : assignments_) {
      if (!assignment.value) continue;
      for (const Assignment& other : assignments_) {
        if (other.spec == assignment.spec && other.value && *other.value != *assignment.value) {
          return UsageError(absl::StrCat(assignment.shown, " and ", other.shown,
                                         ": contradict each other; give one of them"));
        }
      }
      Store(*assignment.value, *assignment.spec, command_line_.options);
      given_.insert(assignment.spec->name);
    }
    return absl::OkStatus();
  }

  std::span<const std::string> arguments_;
  size_t next_ = 0;
  std::vector<Assignment> assignments_;
  GivenOptions given_;
  CommandLine command_line_;
};

}  // namespace

absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> arguments) {
  return Parser(arguments).Run();
}

absl::StatusOr<CommandLine> ParseFlags(int argc, char* const* argv) {
  return ParseFlags(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

absl::Status CheckName(std::string_view flag, std::string_view value,
                       std::span<const std::string_view> known) {
  if (std::ranges::find(known, value) != known.end()) return absl::OkStatus();
  const std::string name(flag), shown = OneLine(value, kShownBytes);
  return UsageError(absl::StrCat("--", name, "=", shown, ": unknown ", name, " \"", shown, "\"",
                                 DidYouMean(value, known), " (--", name, "=list shows all ",
                                 known.size(), ")"));
}

}  // namespace dtnn
