#include "apps/flags/tool_flags.h"

#include <optional>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Arguments = std::vector<std::string>;
using enum OptionType;

struct Settings {
  std::string path = "here", format = "NHWC";
  bool fast = false;
  int64_t count = 3;
  double ratio = 0.5;
  std::vector<double> mean;
};

std::vector<OptionSpec> Flags(Settings& settings) {
  return {
      {.name = "the-path", .type = kPath, .help = "where", .field = &settings.path},
      {.name = "fast", .type = kBool, .help = "hurry", .field = &settings.fast},
      {.name = "count",
       .type = kInt,
       .help = "how many",
       .range = kCountFrom1,
       .field = &settings.count},
      {.name = "ratio",
       .type = kReal,
       .help = "share to use",
       .unit = "share",
       .range = {.low = 0},
       .field = &settings.ratio},
      {.name = "mean", .type = kReals, .help = "per channel", .field = &settings.mean},
      LikeLauncher("weights-format", &settings.format, "of the file"),
  };
}

absl::StatusOr<Action> Parse(const Arguments& arguments, Settings& settings) {
  const absl::StatusOr<ToolRequest> request = ParseToolFlags(arguments, Flags(settings));
  if (!request.ok()) return request.status();
  return request->action;
}

// A flag that is given once for each of its values.
struct Names {
  std::vector<std::string> all = {};
};
std::string AsOption(const Names&) { return ""; }
void FromOption(const std::string& name, Names& names) { names.all.push_back(name); }

TEST(ToolFlagsTest, AFlagMayRepeat) {
  Names names;
  const std::vector<OptionSpec> flags = {
      {.name = "name", .type = kText, .help = "whom", .field = &names, .repeats = true}};
  const Arguments arguments = {"--name=b", "--name", "a", "--name=b"};
  ASSERT_TRUE(ParseToolFlags(arguments, flags).ok());
  EXPECT_EQ(names.all, (std::vector<std::string>{"b", "a", "b"}));
}

TEST(ToolFlagsTest, AllSpellings) {
  Settings settings;
  EXPECT_EQ(Parse({"--the_path=a=b", "--count", "7", "--fast"}, settings).value(), Action::kRun);
  EXPECT_EQ(settings.path, "a=b");
  EXPECT_EQ(settings.count, 7);
  EXPECT_TRUE(settings.fast);
  ASSERT_TRUE(Parse({"--ratio=2.5e-1", "--mean", "-1,2", "--weights_format=nchw"}, settings).ok());
  EXPECT_EQ(settings.ratio, 0.25);
  EXPECT_EQ(settings.mean, (std::vector<double>{-1, 2}));
  EXPECT_EQ(settings.format, "NCHW");
  ASSERT_TRUE(Parse({"--fast", "no", "--the-path", "x", "--the-path=y"}, settings).ok());
  EXPECT_FALSE(settings.fast);
  EXPECT_EQ(settings.path, "y");
  ASSERT_TRUE(Parse({"--fast", "--nofast"}, settings).ok());
  EXPECT_FALSE(settings.fast);
}

TEST(ToolFlagsTest, AVariableThatMayBeNotSetHasTheLaunchersDefault) {
  std::optional<DType> dtype;
  const OptionSpec flags[] = {LikeLauncher("dtype", &dtype)};
  EXPECT_EQ(DefaultText(flags[0]), "float32");
  ASSERT_TRUE(ParseToolFlags(Arguments{}, flags).ok());
  EXPECT_EQ(dtype, std::nullopt);
  ASSERT_TRUE(ParseToolFlags(Arguments{"--dtype=float32"}, flags).ok());
  EXPECT_EQ(dtype, DType::kFloat32);
}

TEST(ToolFlagsTest, WhatIsNotRunSetsNothing) {
  Settings settings;
  EXPECT_EQ(Parse({"--count=7", "--help", "--nonsense"}, settings).value(), Action::kHelp);
  EXPECT_EQ(Parse({"--count=7", "-h"}, settings).value(), Action::kHelp);
  for (const std::string word : {"bash", "man", "zsh", "count"}) {
    EXPECT_EQ(ParseToolFlags(Arguments{"--help=" + word}, Flags(settings))->help_topic, word);
  }
  EXPECT_FALSE(Parse({"--count=7", "--ratio=x"}, settings).ok());
  EXPECT_EQ(settings.count, 3);
  std::string model;
  const OptionSpec flags[] = {LikeLauncher("model", &model)};
  EXPECT_EQ(ParseToolFlags(Arguments{"--model", "list"}, flags)->action, Action::kListModels);
  EXPECT_EQ(model, "");
}

TEST(ToolFlagsTest, MistakesAreUsageErrors) {
  const auto error = [](const Arguments& arguments) {
    Settings settings;
    const absl::Status status = Parse(arguments, settings).status();
    EXPECT_EQ(ExitCodeOf(status), kExitUsage);
    return std::string(status.message());
  };
  EXPECT_EQ(error({"--cuont=1"}),
            "--cuont: no such option; did you mean --count? (--help=all lists them)");
  EXPECT_EQ(error({"--the_pth=x"}),
            "--the-pth: no such option; did you mean --the-path? (--help=all lists them)");
  EXPECT_EQ(error({"--zebra"}), "--zebra: no such option (--help=all lists them)");
  EXPECT_EQ(error({"--count=0"}), "--count=0: must be a whole number >= 1 and <= 1000000000");
  for (const std::string ratio : {"-0.5", "nan", "inf", "1.x", ""}) {
    EXPECT_EQ(error({"--ratio=" + ratio}), "--ratio=" + ratio + ": must be a real number >= 0");
  }
  EXPECT_EQ(error({"--fast=perhaps"}),
            "--fast=perhaps: must be true, 1, yes, y, t, on or false, 0, no, n, f, off");
  EXPECT_EQ(error({"--the-path"}), "--the-path: needs a value: the name of a file or folder");
  EXPECT_EQ(error({"--the-path", "--fast"}),
            "--the-path: needs a value: the name of a file or folder");
  EXPECT_EQ(error({"--weights-format=NWHC"}).substr(0, 50),
            "--weights-format=NWHC: unknown word \"NWHC\"; must b");
  EXPECT_EQ(error({"--help=ratoi"}),
            "--help=ratoi: no such option; did you mean ratio? (--help=all lists all options)");
  for (const std::string argument : {"file", "", "-x", "-"}) {
    EXPECT_EQ(error({argument}),
              "argument \"" + argument +
                  "\": is not an option; write --name=value (--help=all lists them)");
  }
}

TEST(ToolFlagsTest, OtherArgumentsAreGivenBack) {
  Settings settings;
  Arguments others;
  const Arguments arguments = {"a", "--fast",  "on", "b",  "-",         "--fast",
                               "c", "--count", "7",  "--", "--count=8", "-h"};
  ASSERT_TRUE(ParseToolFlags(arguments, Flags(settings), &others).ok());
  EXPECT_EQ(others, (Arguments{"a", "b", "-", "c", "--count=8", "-h"}));
  EXPECT_EQ(settings.count, 7);
  EXPECT_TRUE(settings.fast);
  EXPECT_EQ(ParseToolFlags(Arguments{"-v"}, Flags(settings), &others).status().message(),
            "argument \"-v\": is not an option; write --name=value, or -- before names that begin "
            "with - (--help=all lists them)");
}

}  // namespace
}  // namespace dtnn
