#include "apps/flags/option_table.h"

#include <algorithm>
#include <set>
#include <string>

#include "apps/flags/value.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(OptionTableTest, HoldsEveryDocumentedOption) {
  // 95 options of the user documentation, six older or newer ones, nine of the cost model, of
  // oktopk and of our own.
  EXPECT_EQ(OptionTable().size(), 95u + 6u + 9u);
}

TEST(OptionTableTest, NamesAreUniqueAndCanonical) {
  std::set<std::string> names = {"help", "h"};
  const auto add = [&](std::string_view name) {
    EXPECT_TRUE(names.insert(std::string(name)).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), name.npos) << name;
  };
  for (const OptionSpec& spec : OptionTable()) add(spec.name);
  for (const OptionAlias& alias : AliasTable()) add(alias.old_name);
  for (const ComputedValue& computed : ComputedValueTable()) add(computed.name);
}

TEST(OptionTableTest, GroupsStandTogetherInTheOrderOfTheParameterList) {
  EXPECT_TRUE(std::ranges::is_sorted(OptionTable(), {}, &OptionSpec::group));
  for (int g = 0; g < kOptionGroups; ++g) {
    EXPECT_FALSE(Name(static_cast<OptionGroup>(g)).empty());
    EXPECT_FALSE(Title(static_cast<OptionGroup>(g)).empty());
  }
}

TEST(OptionTableTest, DefaultsAreValidValues) {
  for (const OptionSpec& spec : OptionTable()) {
    const absl::StatusOr<Value> value = ParseValue(spec, DefaultText(spec));
    ASSERT_TRUE(value.ok()) << spec.name << ": " << value.status();
    if (spec.available()) {
      EXPECT_EQ(FormatValue(*value), DefaultText(spec)) << spec.name;
    }
  }
}

TEST(OptionTableTest, WordsAreGivenExactlyWhereTheyAreNeeded) {
  for (const OptionSpec& spec : OptionTable()) {
    const bool takes_words = spec.type == OptionType::kWord || spec.type == OptionType::kWords ||
                             spec.type == OptionType::kMetric;
    EXPECT_EQ(takes_words, !spec.words.empty()) << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
}

TEST(OptionTableTest, FieldsBelongToOneOptionAndFitItsType) {
  for (const OptionSpec& spec : OptionTable()) {
    for (const OptionSpec& other : OptionTable()) {
      if (spec.available() && &spec != &other) {
        EXPECT_FALSE(spec.field == other.field) << spec.name << " and " << other.name;
      }
    }
    if (!spec.available()) continue;
    Options options;
    const Value value = ParseValue(spec, DefaultText(spec)).value();
    Store(value, spec, options);
    EXPECT_EQ(FormatValue(Load(options, spec)), DefaultText(spec)) << spec.name;
    EXPECT_EQ(options, Options()) << spec.name;
  }
}

TEST(OptionTableTest, AliasesLeadToOptions) {
  for (const OptionAlias& alias : AliasTable()) {
    const OptionSpec* spec = FindOption(alias.name);
    ASSERT_NE(spec, nullptr) << alias.old_name;
    if (alias.kind == AliasKind::kInvert) {
      EXPECT_EQ(spec->type, OptionType::kBool);
    }
    EXPECT_EQ(alias.kind == AliasKind::kWhenTrue, !alias.value.empty()) << alias.old_name;
  }
  EXPECT_EQ(FindAlias("model"), nullptr);
  EXPECT_EQ(FindOption("momentum"), nullptr);
}

}  // namespace
}  // namespace dtnn
