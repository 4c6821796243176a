#include "apps/testing/flag_members.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "gtest/gtest.h"
#include "models/run/options/option_text.h"
#include "models/run/options/option_value.h"

namespace dtnn::testing {
namespace {

// A value that the option does not have already.
std::string AnotherValue(const OptionSpec& spec) {
  const std::string standard = DefaultText(spec);
  std::vector<std::string> texts;
  for (const std::string_view word : SplitList(spec.words)) texts.emplace_back(word);
  texts.insert(texts.end(), {std::string(spec.example), "True", "False", "7", "0.5", "a,b"});
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    const absl::StatusOr<Value> value = ParseValue(spec, text);
    if (value.ok() && FormatValue(*value) != standard) return text;
  }
  ADD_FAILURE() << "--" << spec.name << ": no other value is known";
  return standard;
}

}  // namespace

void ExpectNoTwoFlagsSetTheSame(const std::vector<OptionSpec>& flags) {
  std::map<const void*, std::string_view> of;
  for (const OptionSpec& spec : flags) {
    const auto [at, is_new] = of.emplace(spec.field.variable, spec.name);
    EXPECT_TRUE(is_new) << "--" << spec.name << " and --" << at->second;
  }
}

int64_t ExpectFlagsOfTheLauncherSetItsMembers(const std::function<BoundFlags()>& bind) {
  const size_t count = bind().flags.size();
  int64_t checked = 0;
  for (size_t i = 0; i < count; ++i) {
    const BoundFlags bound = bind();
    const OptionSpec& spec = bound.flags[i];
    const auto* const variable = static_cast<const char*>(spec.field.variable);
    const auto* const run = reinterpret_cast<const char*>(bound.run);
    const bool of_run =
        !std::less<>()(variable, run) && std::less<>()(variable, run + sizeof(Options));
    const OptionSpec* const launcher = FindOption(spec.name);
    if (!of_run || launcher == nullptr) continue;
    ++checked;
    const Value value = *ParseValue(spec, AnotherValue(spec));
    Store(value, spec, nullptr);
    EXPECT_EQ(FormatValue(Load(bound.run, *launcher)), FormatValue(value)) << "--" << spec.name;
  }
  return checked;
}

}  // namespace dtnn::testing
