#include "apps/tool_flags.h"

#include <vector>

#include "apps/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

struct Settings {
  std::string path = "here";
  bool fast = false;
  int64_t count = 3;
  double ratio = 0.5;
};

absl::StatusOr<bool> Parse(const std::vector<std::string>& arguments, Settings& settings) {
  const ToolFlag flags[] = {{"the-path", &settings.path, "where"},
                            {"fast", &settings.fast, "hurry"},
                            {"count", &settings.count, "how many", 1},
                            {"ratio", &settings.ratio, "of what there is"}};
  return ParseToolFlags(arguments, flags);
}

TEST(ToolFlagsTest, AllSpellings) {
  Settings settings;
  EXPECT_FALSE(Parse({"--the_path=a=b", "--count", "7", "--fast"}, settings).value());
  EXPECT_EQ(settings.path, "a=b");
  EXPECT_EQ(settings.count, 7);
  EXPECT_TRUE(settings.fast);
  EXPECT_FALSE(Parse({"--ratio=2.5e-1"}, settings).value());
  EXPECT_EQ(settings.ratio, 0.25);
  EXPECT_FALSE(Parse({"--fast=no", "--the-path", "x", "--the-path=y"}, settings).value());
  EXPECT_FALSE(settings.fast);
  EXPECT_EQ(settings.path, "y");
  EXPECT_TRUE(Parse({"--fast", "--help", "--nonsense"}, settings).value());
}

TEST(ToolFlagsTest, MistakesAreUsageErrors) {
  const auto error = [](const std::vector<std::string>& arguments) {
    Settings settings;
    const absl::Status status = Parse(arguments, settings).status();
    EXPECT_EQ(ExitCodeOf(status), kExitUsage);
    return std::string(status.message());
  };
  EXPECT_EQ(error({"--cuont=1"}),
            "--cuont: no such option; did you mean --count? (--help shows all)");
  EXPECT_EQ(error({"--the_pth=x"}),
            "--the-pth: no such option; did you mean --the-path? (--help shows all)");
  EXPECT_EQ(error({"--zebra"}), "--zebra: no such option (--help shows all)");
  EXPECT_EQ(error({"--count=0"}), "--count=0: expected a whole number >= 1");
  EXPECT_EQ(error({"--count=1x"}), "--count=1x: expected a whole number >= 1");
  for (const std::string ratio : {"-0.5", "nan", "inf", "1e999", "1.x", ""}) {
    EXPECT_EQ(error({"--ratio=" + ratio}), "--ratio=" + ratio + ": expected a number >= 0");
  }
  EXPECT_EQ(error({"--fast=perhaps"}), "--fast=perhaps: expected true or false");
  EXPECT_EQ(error({"--the-path"}), "--the-path: needs a value");
  EXPECT_EQ(error({"file"}), "\"file\": is no option (--help shows all)");
  EXPECT_EQ(error({"--"}), "\"--\": is no option (--help shows all)");
}

TEST(ToolFlagsTest, OtherArgumentsAreGivenBack) {
  Settings settings;
  const ToolFlag flags[] = {{"count", &settings.count, "how many"}};
  std::vector<std::string> others;
  const std::vector<std::string> arguments = {"a", "--count", "7", "b", "--", "--count=8", "-h"};
  EXPECT_FALSE(ParseToolFlags(arguments, flags, &others).value());
  EXPECT_EQ(others, (std::vector<std::string>{"a", "b", "--count=8", "-h"}));
  EXPECT_EQ(settings.count, 7);
}

TEST(ToolFlagsTest, HelpNamesEveryFlagAndItsDefault) {
  Settings settings;
  const ToolFlag flags[] = {{"count", &settings.count, "how many"},
                            {"ratio", &settings.ratio, "of what there is"},
                            {"fast", &settings.fast, "hurry"}};
  EXPECT_EQ(ToolHelp("Counts.", flags),
            "Counts.\n\n  --count                how many [3]\n"
            "  --ratio                of what there is [0.5]\n  --fast                 hurry\n");
}

}  // namespace
}  // namespace dtnn
