#include "apps/launch/remote_command.h"

#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::Launch;
using testing::Outcome;
using testing::Process;

// Runs it as ssh's other end would, with `input` before, and, if so, the input's end behind it.
Outcome RunThere(const std::vector<std::string>& command, const std::string& input,
                 bool ends = false) {
  const std::string script = "cd " + ::testing::TempDir() +
                             " && rm -f pipe && mkfifo pipe && { /bin/sh -c \"$0\" <pipe & } && "
                             "exec 9>pipe && printf '" +
                             input + "' >&9 && " + (ends ? "exec 9>&- && " : "") + "wait $!";
  return Process("/bin/sh", {"-c", script, RemoteCommand("/", command)}).Wait();
}

TEST(RemoteCommandTest, VariablesComeFirstOnTheInput) {
  const Outcome outcome = RunThere(
      {"sh", "-c", "echo \"$0,$1,$A,$B\"; pwd; exit 7", "it's", "$A;*"}, "A=1\\nB=x  $y z\\n\\n");
  EXPECT_EQ(outcome.text, "it's,$A;*,1,x  $y z\n/\n");
  EXPECT_EQ(outcome.exit_code, 7);
}

TEST(RemoteCommandTest, TheRankHasNoInput) {
  EXPECT_EQ(RunThere({"sh", "-c", "cat; echo read"}, "\\nTERMINATE\\n").text, "read\n");
}

TEST(RemoteCommandTest, SignalsArePassedOn) {
  // (Not SIGINT, which shells let their processes in the background ignore.)
  EXPECT_EQ(RunThere({"sleep", "1000"}, "\\nTERM\\n").exit_code, 128 + 15);
  EXPECT_EQ(RunThere({"sleep", "1000"}, "\\nKILL\\n").exit_code, 128 + 9);
  EXPECT_EQ(RunThere({"sleep", "1000"}, "\\nHUP\\n").exit_code, 128 + 1);
}

TEST(RemoteCommandTest, WithItsInputTheRankEnds) {
  EXPECT_EQ(RunThere({"sleep", "1000"}, "A=1\\n\\n", /*ends=*/true).exit_code, 128 + 15);
}

TEST(RemoteCommandTest, AFolderThatIsNotThereIsAnError) {
  const Outcome outcome =
      Launch(RemoteCommand("/no/such folder", std::vector<std::string>{"true"}), "</dev/null");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("/no/such folder"));
}

}  // namespace
}  // namespace dtnn
