#include "apps/flags/arguments.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"
#include "tensor/text/str_cat.h"

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

// The names that a command line may hold.
class Names {
 public:
  explicit Names(const Syntax& syntax) : syntax_(syntax) {}

  absl::StatusOr<Spelling> Resolve(const std::string& name) const {
    if (std::optional<Spelling> spelling = Find(name)) return *std::move(spelling);
    return Unknown(name);
  }

  std::optional<Spelling> Find(std::string_view name) const {
    if (std::optional<Spelling> spelling = FindExact(name)) return spelling;
    if (!name.starts_with("no")) return std::nullopt;
    std::optional<Spelling> spelling = FindExact(name.substr(name.starts_with("no-") ? 3 : 2));
    if (!spelling || !IsBoolean(*spelling)) return std::nullopt;
    spelling->negated = true;
    return spelling;
  }

 private:
  const OptionSpec* FindSpec(std::string_view name) const {
    const auto it = std::ranges::find(syntax_.options, name, &OptionSpec::name);
    return it == syntax_.options.end() ? nullptr : &*it;
  }

  std::optional<Spelling> FindExact(std::string_view name) const {
    if (const OptionSpec* spec = FindSpec(name)) return Spelling{std::string(name), spec};
    const auto alias = std::ranges::find(syntax_.aliases, name, &OptionAlias::old_name);
    if (alias == syntax_.aliases.end()) return std::nullopt;
    return Spelling{std::string(name), FindSpec(alias->name), &*alias};
  }

  absl::Status Unknown(const std::string& name) const {
    for (const ComputedValue& computed : syntax_.computed) {
      if (name == computed.name) {
        return UsageError("--", name, ": cannot be set; ", computed.advice);
      }
    }
    const auto other = std::ranges::find(syntax_.others, name, &OtherName::other);
    if (other != syntax_.others.end()) return Unknown(name, other->name);
    std::vector<std::string_view> known = {"help"};
    for (const OptionSpec& spec : syntax_.options) known.push_back(spec.name);
    for (const OptionAlias& alias : syntax_.aliases) known.push_back(alias.old_name);
    return Unknown(name, NearestName(name, known));
  }

  static absl::Status Unknown(const std::string& name, std::optional<std::string_view> nearest) {
    return UsageError("--", OneLine(name, kShownBytes), ": no such option",
                      nearest ? StrCat("; did you mean --", *nearest, "?") : std::string(),
                      " (--help=all lists them)");
  }

  const Syntax& syntax_;
};

// The value that `text` means under this spelling.
absl::StatusOr<std::optional<Value>> Interpret(const Spelling& spelling, std::string_view text) {
  const OptionAlias* alias = spelling.alias;
  if (alias && alias->kind == AliasKind::kWhenTrue) {
    const OptionSpec boolean = {.type = OptionType::kBool, .by_default = "False"};
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
  Parser(std::span<const std::string> arguments, const Syntax& syntax)
      : arguments_(arguments),
        syntax_(syntax),
        takes_others_(syntax.takes_others),
        names_(syntax) {}

  absl::StatusOr<Arguments> Run() {
    while (next_ < arguments_.size() && result_.action == Action::kRun) {
      const std::string& argument = arguments_[next_++];
      if (argument == "--") break;
      DTNN_RETURN_IF_ERROR(Take(argument));
    }
    if (result_.action != Action::kRun) return std::move(result_);
    if (next_ < arguments_.size() && !takes_others_) return NotAnOption(arguments_[next_]);
    const auto rest = arguments_.subspan(next_);
    result_.others.insert(result_.others.end(), rest.begin(), rest.end());
    DTNN_RETURN_IF_ERROR(Fold());
    return std::move(result_);
  }

 private:
  absl::Status NotAnOption(std::string_view argument) const {
    return UsageError(
        "argument \"", OneLine(argument, kShownBytes), "\": is not an option; write --name=value",
        takes_others_ ? ", or -- before names that begin with -" : "", " (--help=all lists them)");
  }

  absl::Status Take(const std::string& argument) {
    if (takes_others_ && (argument == "-" || !argument.starts_with('-'))) {
      result_.others.push_back(argument);
      return absl::OkStatus();
    }
    if (!argument.starts_with("--") && argument != "-h") return NotAnOption(argument);
    const size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == argument.npos ? equals : equals - 2);
    std::ranges::replace(name, '_', '-');
    std::optional<std::string_view> text;
    if (equals != argument.npos) text = std::string_view(argument).substr(equals + 1);
    if (name == "help" || argument == "-h") {
      result_.action = Action::kHelp;
      result_.help_topic = text ? *text : IsTopicNext() ? Next() : "";
      return absl::OkStatus();
    }
    DTNN_ASSIGN_OR_RETURN(const Spelling spelling, names_.Resolve(name));
    DTNN_ASSIGN_OR_RETURN(text, TextFor(spelling, text));
    return Assign(spelling, *text);
  }

  // The value's text: after '=', or the next argument, or implied.
  absl::StatusOr<std::optional<std::string_view>> TextFor(const Spelling& spelling,
                                                          std::optional<std::string_view> text) {
    const bool more = next_ < arguments_.size();
    if (spelling.negated) {
      if (!text) return std::optional<std::string_view>("false");
      return UsageError("--no", spelling.name, "=", OneLine(*text, kShownBytes),
                        ": takes no value; write --", spelling.name, " or --no", spelling.name);
    }
    if (text) return text;
    if (IsBoolean(spelling)) {
      if (more && ParseBool(arguments_[next_])) return std::optional(Next());
      return std::optional<std::string_view>("true");
    }
    if (more && !arguments_[next_].starts_with("--")) return std::optional(Next());
    return UsageError("--", spelling.name, ": needs a value: ", DescribeAllowed(*spelling.spec));
  }

  std::string_view Next() { return arguments_[next_++]; }

  // `--help learning-rate`: not an argument of the program's own, such as a file.
  bool IsTopicNext() const {
    if (next_ == arguments_.size() || arguments_[next_].starts_with('-')) return false;
    return !takes_others_ || names_.Resolve(arguments_[next_]).ok();
  }

  absl::Status Assign(const Spelling& spelling, std::string_view text) {
    const OptionSpec& spec = *spelling.spec;
    if (!spelling.alias && text == "list" && spec.on_list != Action::kRun) {
      result_.action = spec.on_list;
      return absl::OkStatus();
    }
    std::string shown = StrCat("--", spelling.name, "=", OneLine(text, kShownBytes));
    absl::StatusOr<std::optional<Value>> value = Interpret(spelling, text);
    if (!value.ok()) {
      const auto other =
          std::ranges::find(syntax_.others, StrCat(spelling.name, "=", text), &OtherName::other);
      return UsageError(shown, ": ", value.status().message(),
                        other == syntax_.others.end()
                            ? std::string()
                            : StrCat("; did you mean --", other->name, "?"));
    }
    Assignment assignment{spelling.name, std::move(shown), &spec, *std::move(value)};
    const auto it = std::ranges::find(assignments_, spelling.name, &Assignment::name);
    if (spec.repeats || it == assignments_.end()) {
      assignments_.push_back(std::move(assignment));
    } else {
      *it = std::move(assignment);
    }
    return absl::OkStatus();
  }

  // Several spellings to one value each.
  absl::Status Fold() {
    for (const Assignment& assignment : assignments_) {
      if (!assignment.value) continue;
      for (const Assignment& other : assignments_) {
        if (other.spec == assignment.spec && !other.spec->repeats && other.value &&
            *other.value != *assignment.value) {
          return UsageError(assignment.shown, " and ", other.shown,
                            ": contradict each other; give one of them");
        }
      }
      result_.settings.push_back({assignment.spec, *assignment.value});
    }
    return absl::OkStatus();
  }

  std::span<const std::string> arguments_;
  const Syntax& syntax_;
  const bool takes_others_;
  const Names names_;
  size_t next_ = 0;
  std::vector<Assignment> assignments_;
  Arguments result_;
};

}  // namespace

absl::StatusOr<Arguments> ParseArguments(std::span<const std::string> arguments,
                                         const Syntax& syntax) {
  return Parser(arguments, syntax).Run();
}

std::optional<std::string> LastValueOf(std::string_view name,
                                       std::span<const std::string> arguments) {
  std::optional<std::string> value;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string flag = arguments[i].substr(0, arguments[i].find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag != StrCat("--", name)) continue;
    if (flag.size() < arguments[i].size()) {
      value = arguments[i].substr(flag.size() + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
  }
  return value;
}

const OptionSpec* FindSpelling(std::string_view name, const Syntax& syntax) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  const std::optional<Spelling> spelling = Names(syntax).Find(dashed);
  return spelling ? spelling->spec : nullptr;
}

}  // namespace dtnn
