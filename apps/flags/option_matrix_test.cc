// Every row of the option table and of the alias table through the parser: its default, a good
// value, a bad value.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// A value that `spec` takes and that is not its default.
std::string GoodValue(const OptionSpec& spec) {
  if (spec.name == "loss-func") return "categorical_accuracy,categorical_cross_entropy";
  if (spec.name == "synthetic-input-shape") return "1,28,27";
  if (spec.name == "comm-bucket-mb") return "0.625";
  if (spec.name == "augment") return "flip:0.25,cutout:4:zero";
  if (spec.name == "profile") return "some/profile.json";
  if (spec.name == "report") return "some/run.html";
  if (spec.name == "least-clients") return "2.5";
  if (spec.name == "dataset-part") return "2/4";
  if (spec.name == "elastic") return "2:4";
  if (spec.name == "rendezvous") return "node1:61642";
  if (spec.name == "class-weights") return "1,0.5";
  switch (spec.type) {
    case OptionType::kBool:
      return DefaultText(spec) == "True" ? "False" : "True";
    case OptionType::kInt:
    case OptionType::kInts:
      return "17";
    case OptionType::kReal:
    case OptionType::kReals:
      return "0.625";
    case OptionType::kText:
    case OptionType::kPath:
      return "some/text";
    case OptionType::kMetric:
      return "val_f1_score";
    case OptionType::kWord:
    case OptionType::kWords:
      break;
  }
  const std::vector<std::string_view> words = SplitList(spec.words);
  return std::string(words.back() == DefaultText(spec) ? words.front() : words.back());
}

// Values that `spec` must refuse; none for texts, which take everything.
std::vector<std::string> BadValues(const OptionSpec& spec) {
  if (spec.name == "comm-bucket-mb") return {"0", "-1", "0,5", "nan", "inf", "1e7", "best", ""};
  if (spec.name == "augment") return {"flop", "flip:2", "flip:", "pad_crop:4:4", "flip:1:1"};
  if (spec.name == "profile") return {"ture", "profile.txt", "profile"};
  if (spec.name == "report") return {"", "run.pdf", "html"};
  if (spec.name == "dataset-part")
    return {"0/4", "5/4",   "2",    "2/",       "/4",           "1/0",
            "a/b", "1/4/4", "1/4@", "1/4@even", "1/4@labels:0", "1/4@dirichlet:0.3:x"};
  if (spec.name == "elastic") return {"2", "4:2", "0:4", ":4", "2:", "1:1025", "a:b"};
  if (spec.name == "class-weights") return {"equal", "1,,2", "1,-2", "1,nan", "inf,1", "0,0", "1,"};
  if (spec.name == "tracer-output") return {"trace.jsn", "x.pcf"};
  std::vector<std::string> bad;
  switch (spec.type) {
    case OptionType::kBool:
      bad = {"ture", "2", ""};
      break;
    case OptionType::kInt:
      bad = {"1.5", "ten", "99999999999999999999", ""};
      break;
    case OptionType::kReal:
      bad = {"0,5", "nan", "inf", "1e999", ""};
      break;
    case OptionType::kInts:
      bad = {"3,x", "", ",", "3,-1"};
      break;
    case OptionType::kReals:
      bad = {"3,x", "", ",", "3,nan"};
      break;
    case OptionType::kWord:
    case OptionType::kWords:
    case OptionType::kMetric:
      bad = {"nonsense"};
      break;
    case OptionType::kPath:
      bad = {""};
      break;
    case OptionType::kText:
      break;
  }
  const Range& range = spec.range;
  if (std::isfinite(range.low)) {
    bad.push_back(
        FormatValue(Value(range.low_open ? range.low : std::min(range.low - 1, 2 * range.low))));
  }
  if (std::isfinite(range.high)) {
    const double beyond = std::max(range.high + 1, 2 * range.high);
    bad.push_back(FormatValue(Value(range.high_open ? range.high : beyond)));
  }
  if (range.hole > 0) bad.insert(bad.end(), {"0", FormatValue(Value(range.hole / 2))});
  return bad;
}

// `argument` on a command line that is complete without it.
absl::StatusOr<CommandLine> Parse(const std::string& argument, std::string_view option) {
  std::vector<std::string> arguments = {argument};
  if (option != "model") arguments.push_back("--model=simplecnn");
  if (option != "dataset") arguments.push_back("--dataset=mnist");
  if (option == "dataset-test-path") arguments.push_back("--dataset-train-path=folder");
  if (option == "resume") arguments.push_back("--checkpoint-dir=folder");
  if (option == "elastic") arguments.push_back("--parallel=data");
  if (option == "encryption") arguments.push_back("--parallel=federated");
  if (option == "math-mode") arguments.push_back("--enable-gpu");
  // Neither works without the other.
  const bool is_on = argument.find('=') != std::string::npos && !argument.ends_with("=0");
  if (is_on && option == "dp-sgd-clip") arguments.push_back("--dp-sgd-noise=1");
  if (is_on && option == "dp-sgd-noise") arguments.push_back("--dp-sgd-clip=1");
  if (argument == "--tracing" || argument == "--tracing=True") {
    arguments.push_back("--tracer-output=trace.json");
  }
  return ParseFlags(arguments);
}

std::string Assign(std::string_view name, const std::string& value) {
  return "--" + std::string(name) + "=" + value;
}

class OptionTest : public testing::TestWithParam<OptionSpec> {};

TEST_P(OptionTest, DefaultChangesNothing) {
  const OptionSpec& spec = GetParam();
  const bool required = spec.name == "model" || spec.name == "dataset";
  const absl::StatusOr<CommandLine> parsed = Parse(Assign(spec.name, DefaultText(spec)), spec.name);
  if (required) {
    EXPECT_EQ(ExitCodeOf(parsed.status()), kExitUsage);
  } else {
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(FormatValue(Load(&parsed->options, spec)), DefaultText(spec));
    Options untouched = Parse("--noevaluate", spec.name).value().options;
    untouched.given = parsed->options.given;
    // A run that names model_checkpoint asks for its files.
    if (spec.name == "schedulers")
      untouched.schedule.schedulers = parsed->options.schedule.schedulers;
    EXPECT_EQ(OptionsInForce(parsed->options), OptionsInForce(untouched));
  }
}

TEST_P(OptionTest, GoodValueIsStored) {
  const OptionSpec& spec = GetParam();
  const std::string good = GoodValue(spec);
  ASSERT_TRUE(good != DefaultText(spec) || SplitList(spec.words).size() == 1) << good;
  const absl::StatusOr<CommandLine> parsed = Parse(Assign(spec.name, good), spec.name);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  if (spec.name != "loss-func") {
    EXPECT_EQ(FormatValue(Load(&parsed->options, spec)), good);
  }
}

TEST_P(OptionTest, BadValuesAreUsageErrorsThatNameFlagAndValue) {
  const OptionSpec& spec = GetParam();
  for (const std::string& bad : BadValues(spec)) {
    const std::string argument = Assign(spec.name, bad);
    const absl::Status status = Parse(argument, spec.name).status();
    // No word may be left out where None is a value.
    ASSERT_EQ(ExitCodeOf(status), kExitUsage) << argument;
    EXPECT_EQ(std::string(status.message()).substr(0, argument.size() + 2), argument + ": ");
  }
}

TEST_P(OptionTest, UnderscoresMeanTheSame) {
  const OptionSpec& spec = GetParam();
  std::string underscored(spec.name);
  for (char& c : underscored) c = c == '-' ? '_' : c;
  const absl::StatusOr<CommandLine> one = Parse(Assign(spec.name, GoodValue(spec)), spec.name);
  const absl::StatusOr<CommandLine> two = Parse(Assign(underscored, GoodValue(spec)), spec.name);
  EXPECT_EQ(one.status(), two.status());
  if (one.ok() && two.ok()) {
    EXPECT_EQ(one->options, two->options);
  }
}

std::string TestName(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = c == '-' ? '_' : c;
  return text;
}

INSTANTIATE_TEST_SUITE_P(Table, OptionTest,
                         testing::ValuesIn(OptionTable().begin(), OptionTable().end()),
                         [](const auto& info) { return TestName(info.param.name); });

class AliasTest : public testing::TestWithParam<OptionAlias> {};

// What `alias`=`value` must be equal to, in the new spelling.
std::string Translate(const OptionAlias& alias, const std::string& value) {
  switch (alias.kind) {
    case AliasKind::kRename:
      return Assign(alias.name, value);
    case AliasKind::kInvert:
      return Assign(alias.name, value == "True" ? "False" : "True");
    case AliasKind::kWhenTrue:
      return value == "True" ? Assign(alias.name, std::string(alias.value)) : "--model=simplecnn";
  }
  return "";
}

TEST_P(AliasTest, MeansWhatTheTableSays) {
  const OptionAlias& alias = GetParam();
  const OptionSpec& spec = *FindOption(alias.name);
  std::vector<std::string> values = {GoodValue(spec), DefaultText(spec)};
  if (alias.kind != AliasKind::kRename) values = {"True", "False"};
  for (const std::string& value : values) {
    const absl::StatusOr<CommandLine> old_one = Parse(Assign(alias.old_name, value), "");
    const absl::StatusOr<CommandLine> new_one = Parse(Translate(alias, value), "");
    EXPECT_EQ(ExitCodeOf(old_one.status()), ExitCodeOf(new_one.status())) << value;
    if (old_one.ok() && new_one.ok()) {
      EXPECT_EQ(old_one->options, new_one->options);
    }
  }
}

TEST_P(AliasTest, BadValueIsBlamedOnTheSpellingUsed) {
  const OptionAlias& alias = GetParam();
  const OptionSpec& spec = *FindOption(alias.name);
  std::vector<std::string> values = BadValues(spec);
  if (alias.kind == AliasKind::kWhenTrue) values = {"nonsense", "ture"};
  for (const std::string& bad : values) {
    const std::string argument = Assign(alias.old_name, bad);
    const absl::Status status = Parse(argument, "").status();
    EXPECT_EQ(ExitCodeOf(status), kExitUsage) << argument;
    EXPECT_EQ(std::string(status.message()).substr(0, argument.size() + 2), argument + ": ");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, AliasTest,
                         testing::ValuesIn(AliasTable().begin(), AliasTable().end()),
                         [](const auto& info) { return TestName(info.param.old_name); });

}  // namespace
}  // namespace dtnn
