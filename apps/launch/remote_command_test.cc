#include "apps/launch/remote_command.h"

#include <filesystem>
#include <iostream>
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
                 bool ends = false, const std::string& shell = "/bin/sh") {
  const std::string script = "cd " + ::testing::TempDir() + " && rm -f pipe && mkfifo pipe && { " +
                             shell +
                             " -c \"$0\" <pipe & } && "
                             "exec 9>pipe && printf '" +
                             input + "' >&9 && " + (ends ? "exec 9>&- && " : "") + "wait $!";
  return Process("/bin/sh", {"-c", script, RemoteCommand("/", command)}).Wait();
}

// Each family of shells has characters of its own that are special in quotes: csh's ends at the end
// of a line and has "!", zsh's has "=" at the beginning of a word, fish's has "\\".
TEST(RemoteCommandTest, AllShellsReadTheSameWords) {
  const std::vector<std::string> words = {
      "it's", "a\nb\n\n", "wow!",    "!!",  "$HOME", "`id`",   "\"q\"", "\\",   "\\n",     "\\0101",
      "",     "=true",    "~",       "*",   "?",     "[a]",    "{a,b}", "^a^b", "%self",   "a;b",
      "a&b",  "a|b",      "<a>",     "(a)", "#a",    " a  b ", "\t",    "-n",   "-",       "ü",
      "a=b",  "%s",       "$status", "\\'", "@",     ":",      "\r\n",  "\1",   "x\\!\\n", "end"};
  std::vector<std::string> command = {"/bin/sh", "-c", "printf '[%s]' \"$@\"", "sh"};
  std::string expected;
  for (const std::string& word : words) {
    command.push_back(word);
    expected += "[" + word + "]";
  }
  const std::string line = RemoteCommand("/", command);
  EXPECT_EQ(line.find_first_of("\n!"), std::string::npos) << line;
  for (const std::string shell :
       {"/bin/sh", "/bin/bash", "/bin/zsh", "/bin/ksh", "/bin/tcsh", "/usr/bin/fish"}) {
    if (!std::filesystem::exists(shell)) {
      std::cout << "not tested with " << shell << ", which this machine does not have\n";
      continue;
    }
    const Outcome outcome = RunThere(command, "\\n", /*ends=*/false, shell);
    EXPECT_EQ(outcome.text, expected) << shell;
    EXPECT_EQ(outcome.exit_code, 0) << shell;
  }
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
