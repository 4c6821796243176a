// Each flag sets what it is called after; also of the flags that all programs with rounds have.

#include "apps/simulate/simulate_flags.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "gtest/gtest.h"
#include "models/run/options/option_text.h"
#include "models/run/options/option_value.h"

namespace dtnn {
namespace {

std::vector<OptionSpec> AllOf(SimulateFlags& flags) {
  std::vector<OptionSpec> all;
  for (const FlagGroup& group : GroupsOf(flags)) {
    all.insert(all.end(), group.options.begin(), group.options.end());
  }
  return all;
}

TEST(SimulateFlagsTest, NoTwoFlagsSetTheSame) {
  SimulateFlags flags;
  std::map<const void*, std::string_view> of;
  for (const OptionSpec& spec : AllOf(flags)) {
    const auto [at, is_new] = of.emplace(spec.field.variable, spec.name);
    EXPECT_TRUE(is_new) << "--" << spec.name << " and --" << at->second;
  }
}

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

TEST(SimulateFlagsTest, FlagsOfTheLauncherSetItsMembers) {
  SimulateFlags unchanged;
  const size_t count = AllOf(unchanged).size();
  int64_t checked = 0;
  for (size_t i = 0; i < count; ++i) {
    SimulateFlags flags;
    const OptionSpec spec = AllOf(flags)[i];
    const auto* const variable = static_cast<const char*>(spec.field.variable);
    const auto* const run = reinterpret_cast<const char*>(&flags.run);
    const bool of_run =
        !std::less<>()(variable, run) && std::less<>()(variable, run + sizeof(Options));
    const OptionSpec* const launcher = FindOption(spec.name);
    if (!of_run || launcher == nullptr) continue;
    ++checked;
    const Value value = *ParseValue(spec, AnotherValue(spec));
    Store(value, spec, nullptr);
    EXPECT_EQ(FormatValue(Load(&flags.run, *launcher)), FormatValue(value)) << "--" << spec.name;
  }
  EXPECT_GT(checked, 30);
}

}  // namespace
}  // namespace dtnn
