#include "apps/help/tool_help.h"

#include <string>
#include <vector>

#include "apps/flags/tool_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using enum OptionType;

constexpr ProgramText kProgramText = {
    .name = "count",
    .does = "counts",
    .text =
        "count FILE...\nmpirun count FILE...\n\nCounts with count.\n"
        "Twice.\n\n  LOUD=1 count a count"};

struct Settings {
  std::string path = "here", format = "NHWC";
  bool fast = false;
  double ratio = 0.5;
};

std::vector<OptionSpec> Options(Settings& settings) {
  return {
      {.name = "the-path", .type = kPath, .help = "where", .field = &settings.path},
      {.name = "fast", .type = kBool, .help = "hurry", .field = &settings.fast},
      {.name = "ratio",
       .type = kReal,
       .help = "share to use",
       .unit = "share",
       .range = {.low = 0},
       .field = &settings.ratio},
      LikeLauncher("weights-format", &settings.format, "of the file"),
  };
}

// This test is a program that Bazel has built.
TEST(ToolHelpTest, NamesEveryOptionItsDefaultAndHowTheProgramIsCalled) {
  Settings settings;
  EXPECT_EQ(ToolHelp(kProgramText, Options(settings)),
            "count FILE...\nmpirun count FILE...\n\nCounts with count.\nTwice.\n\n"
            "  LOUD=1 bazel run //apps:count -- a count\n\n"
            "  --the-path=PATH                    where [here]\n"
            "  --fast                             hurry [False]\n"
            "  --ratio=SHARE                      share to use [0.5]\n"
            "  --weights-format=auto|NHWC|NCHW    of the file [NHWC]\n");
  const OptionSection sections[] = {{"One", {Options(settings)[1]}}, {"Other", {}}};
  EXPECT_THAT(
      ToolHelp(kProgramText, sections),
      HasSubstr("\n\nOne:\n  --fast                             hurry [False]\n\nOther:\n"));
}

TEST(ToolHelpTest, AProgramThatIsStartedByItsNameIsAFileOfBazels) {
  const ProgramText text = {
      .name = "start", .does = "starts", .text = "start\n\n  start -- benchmark -x"};
  const std::vector<OptionSpec> none;
  EXPECT_EQ(ToolHelp(text, none),
            "start\n\n  bazel run //apps:start -- -- bazel-bin/apps/benchmark -x\n\n");
}

TEST(ToolHelpTest, AnInstalledProgramIsCalledByItsPackagesCommand) {
  EXPECT_EQ(Calling(kProgramText, "dtnn count", "count FILE...\nmpirun count a"),
            "dtnn count FILE...\nmpirun dtnn count a");
  EXPECT_EQ(Calling(kProgramText, "dtnn count", "recount counts --count=1 count\n  x"),
            "recount counts --count=1 dtnn count\n  x");
}

TEST(ToolHelpTest, ATopicIsAnOptionOrWhatAShellNeeds) {
  Settings settings;
  const std::vector<OptionSpec> options = Options(settings);
  const auto help = [&](const std::string& word) {
    const std::vector<std::string> arguments = {"--help=" + word};
    const absl::StatusOr<ToolRequest> request = ParseToolFlags(arguments, options);
    EXPECT_TRUE(request.ok()) << request.status();
    EXPECT_EQ(request->action, Action::kHelp);
    return ToolHelp(kProgramText, options, request->help_topic);
  };
  EXPECT_EQ(help("ratio"),
            "--ratio=SHARE\n"
            "  share to use\n"
            "\n"
            "  takes     a real number >= 0\n"
            "  default   0.5\n");
  EXPECT_EQ(help("the_path"), help("--the-path"));
  EXPECT_EQ(help("weights-format").find("needs"), std::string::npos)
      << "of an option that this tool does not have";
  EXPECT_EQ(help("all"), ToolHelp(kProgramText, options));
  EXPECT_THAT(help("bash"), HasSubstr("complete -F _dtnn_count count\n"));
  EXPECT_THAT(help("zsh"), HasSubstr("#compdef count\n"));
  EXPECT_THAT(help("man"), HasSubstr("\ncount \\- counts\n"));
}

}  // namespace
}  // namespace dtnn
