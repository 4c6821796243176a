#include "apps/tool_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/exit_code.h"
#include "apps/flags/nearest.h"
#include "apps/flags/value.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::StatusOr<const ToolFlag*> Find(std::string name, std::span<const ToolFlag> flags) {
  std::replace(name.begin(), name.end(), '_', '-');
  std::vector<std::string_view> known = {"help"};
  for (const ToolFlag& flag : flags) {
    if (flag.name == name) return &flag;
    known.push_back(flag.name);
  }
  const std::optional<std::string_view> nearest = NearestName(name, known);
  return UsageError(absl::StrCat(
      "--", name, ": no such option",
      nearest ? absl::StrCat("; did you mean --", std::string(*nearest), "?") : std::string(),
      " (--help shows all)"));
}

// All of the text, as a number >= the flag's least.
template <typename T>
bool ParseNumber(const std::string& text, const ToolFlag& flag, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= T(flag.least);
}

absl::Status Set(const ToolFlag& flag, const std::string& text) {
  const auto wrong = [&](std::string_view expected) {
    return UsageError(absl::StrCat("--", std::string(flag.name), "=", text, ": expected ",
                                   std::string(expected)));
  };
  if (auto* const* to = std::get_if<std::string*>(&flag.value)) {
    **to = text;
  } else if (auto* const* to = std::get_if<bool*>(&flag.value)) {
    const std::optional<bool> value = ParseBool(text);
    if (!value) return wrong("true or false");
    **to = *value;
  } else if (auto* const* to = std::get_if<int64_t*>(&flag.value)) {
    int64_t value = 0;
    if (!ParseNumber(text, flag, value)) {
      return wrong(absl::StrCat("a whole number >= ", flag.least));
    }
    **to = value;
  } else {
    double value = 0;
    if (!ParseNumber(text, flag, value) || !std::isfinite(value)) {
      return wrong(absl::StrCat("a number >= ", flag.least));
    }
    *std::get<double*>(flag.value) = value;
  }
  return absl::OkStatus();
}

std::string Default(const ToolFlag& flag) {
  if (auto* const* text = std::get_if<std::string*>(&flag.value)) {
    return (*text)->empty() ? "" : absl::StrCat(" [", **text, "]");
  }
  if (auto* const* number = std::get_if<int64_t*>(&flag.value)) {
    return absl::StrCat(" [", **number, "]");
  }
  if (auto* const* number = std::get_if<double*>(&flag.value)) {
    return absl::StrCat(" [", **number, "]");
  }
  return "";
}

}  // namespace

absl::StatusOr<bool> ParseToolFlags(std::span<const std::string> arguments,
                                    std::span<const ToolFlag> flags,
                                    std::vector<std::string>* others) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") return true;
    if (others != nullptr && argument == "--") {
      others->insert(others->end(), arguments.begin() + ptrdiff_t(i) + 1, arguments.end());
      return false;
    }
    if (others != nullptr && !argument.starts_with("--")) {
      others->push_back(argument);
      continue;
    }
    if (!argument.starts_with("--") || argument.size() == 2) {
      return UsageError(absl::StrCat("\"", argument, "\": is no option (--help shows all)"));
    }
    const size_t equals = argument.find('=');
    DTNN_ASSIGN_OR_RETURN(const ToolFlag* flag,
                          Find(argument.substr(2, std::min(equals, argument.size()) - 2), flags));
    if (equals != std::string::npos) {
      DTNN_RETURN_IF_ERROR(Set(*flag, argument.substr(equals + 1)));
    } else if (std::holds_alternative<bool*>(flag->value)) {
      *std::get<bool*>(flag->value) = true;
    } else if (i + 1 < arguments.size()) {
      DTNN_RETURN_IF_ERROR(Set(*flag, arguments[++i]));
    } else {
      return UsageError(absl::StrCat(argument, ": needs a value"));
    }
  }
  return false;
}

std::string ToolHelp(std::string_view summary, std::span<const ToolFlag> flags) {
  std::string text(summary);
  text += "\n\n";
  for (const ToolFlag& flag : flags) {
    absl::StrAppendFormat(&text, "  --%-20s %s%s\n", std::string(flag.name), std::string(flag.help),
                          Default(flag));
  }
  return text;
}

}  // namespace dtnn
