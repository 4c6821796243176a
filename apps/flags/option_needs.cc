#include "apps/flags/option_needs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "tensor/text/nearest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// One alternative of a condition.
struct Setting {
  bool negated = false;
  std::string_view option;
  std::vector<std::string_view> words;
};

std::vector<std::string_view> Parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Its own, then those of its group.
std::vector<std::string_view> ConditionsOf(const OptionSpec& spec) {
  std::vector<std::string_view> conditions = Parts(spec.needs, ' ');
  if (!spec.needs_of_group) return conditions;
  for (const std::string_view condition : Parts(NeedsOf(spec.group), ' ')) {
    conditions.push_back(condition);
  }
  return conditions;
}

std::vector<Setting> Alternatives(std::string_view condition) {
  std::vector<Setting> settings;
  for (std::string_view text : Parts(condition, '|')) {
    Setting& setting = settings.emplace_back();
    setting.negated = text.starts_with('!');
    if (setting.negated) text.remove_prefix(1);
    const size_t equals = std::min(text.find('='), text.size());
    setting.option = text.substr(0, equals);
    if (equals < text.size()) setting.words = SplitList(text.substr(equals + 1));
  }
  return settings;
}

// `optional`: None is its default, so 0 is a number like others.
bool IsSet(const Value& value, bool optional = false) {
  if (optional) return !std::holds_alternative<std::monostate>(value);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number != 0;
  if (const double* number = std::get_if<double>(&value)) return *number != 0;
  return !std::holds_alternative<std::monostate>(value);
}

bool IsMet(const Setting& setting, const Options& options) {
  const Value value = Load(&options, *FindOption(setting.option));
  bool met = IsSet(value, DefaultText(*FindOption(setting.option)) == "None");
  if (!setting.words.empty()) {
    const std::string text = FormatValue(value);
    const std::vector<std::string_view> given = SplitList(text);
    met = std::ranges::find_first_of(setting.words, given) != setting.words.end();
  }
  return met != setting.negated;
}

std::string WhyUnmet(const Setting& setting, const Options& options) {
  const OptionSpec& spec = *FindOption(setting.option);
  const std::string option = StrCat("--", setting.option);
  if (setting.words.empty()) return (setting.negated ? "with " : "without ") + option;
  const Value value = Load(&options, spec);
  if (std::holds_alternative<std::vector<std::string>>(value) && !setting.negated) {
    return StrCat("without ", JoinOr(setting.words), " in ", option);
  }
  return StrCat("with ", option, "=", FormatValue(value));
}

std::string Describe(const Setting& setting) {
  const std::string option = StrCat(setting.negated ? "no --" : "--", setting.option);
  if (setting.words.empty()) return option;
  if (setting.negated) {
    return StrCat("--", setting.option, " other than ", JoinOr(setting.words));
  }
  if (FindOption(setting.option)->type == OptionType::kWords) {
    const std::string by_default = DefaultText(*FindOption(setting.option));
    const bool met =
        std::ranges::find_first_of(setting.words, SplitList(by_default)) != setting.words.end();
    return StrCat(JoinOr(setting.words), " in ", option, met ? " (the default)" : "");
  }
  return StrCat(option, "=", JoinOr(setting.words));
}

}  // namespace

std::vector<std::string> UnmetNeeds(const OptionSpec& spec, const Options& options) {
  std::vector<std::string> reasons;
  for (const std::string_view condition : ConditionsOf(spec)) {
    const std::vector<Setting> settings = Alternatives(condition);
    const auto met = [&](const Setting& setting) { return IsMet(setting, options); };
    if (std::ranges::none_of(settings, met)) reasons.push_back(WhyUnmet(settings[0], options));
  }
  return reasons;
}

bool IsOffAnyway(const OptionSpec& spec, const Options& options) {
  const Value value = Load(&options, spec);
  const std::string text = FormatValue(value);
  const bool off = !IsSet(value) || text == "none" || (spec.is_switch() && text == "False");
  return off && text == DefaultText(spec);
}

std::string DescribeNeeds(const OptionSpec& spec) {
  std::string text;
  for (const std::string_view condition : ConditionsOf(spec)) {
    std::string alternatives;
    for (const Setting& setting : Alternatives(condition)) {
      StrAppend(&alternatives, alternatives.empty() ? "" : " or ", Describe(setting));
    }
    StrAppend(&text, text.empty() ? "" : "; ", alternatives);
  }
  return text;
}

bool NeedsOption(const OptionSpec& spec, std::string_view option) {
  for (const std::string_view condition : ConditionsOf(spec)) {
    for (const Setting& setting : Alternatives(condition)) {
      if (setting.option == option && !setting.negated) return true;
    }
  }
  return false;
}

}  // namespace dtnn
