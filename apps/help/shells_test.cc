// What the scripts of --help=bash and --help=zsh make of a command line, asked of the shells
// themselves.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/testing/process.h"
#include "apps/testing/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Launch;
using ::dtnn::testing::Terminal;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Script(const std::string& shell, const std::string& program = "apps/benchmark") {
  const auto outcome = Launch(program, "--help=" + shell);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  std::ofstream(Path(shell)) << outcome.text;
  return Path(shell);
}

bool Missing(const char* program) { return access(program, X_OK) != 0; }

class BashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Missing("/bin/bash")) GTEST_SKIP() << "no /bin/bash on this machine";
    script_ = Script("bash");
  }

  // What bash offers for the last of these words.
  std::vector<std::string> Offers(const std::string& words,
                                  const std::string& program = "benchmark") {
    const std::string file = Path("offer.sh");
    std::ofstream(file) << "set -u\nsource " << script_ << "\nCOMP_WORDS=(" << program << " "
                        << words << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_dtnn_" << program
                        << "\nprintf '%s\\n' \"${COMPREPLY[@]-}\"\n";
    const auto outcome = Launch("/bin/bash", file);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    std::vector<std::string> offers;
    std::istringstream lines(outcome.text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) offers.push_back(line);
    }
    return offers;
  }

  std::string script_;
};

TEST_F(BashTest, EveryOptionThatWorksIsOffered) {
  std::set<std::string> expected = {"--help"};
  for (const OptionSpec& spec : OptionTable()) {
    expected.insert(StrCat("--", spec.name, spec.is_switch() ? "" : "="));
  }
  const std::vector<std::string> offers = Offers("--");
  EXPECT_EQ(std::set<std::string>(offers.begin(), offers.end()), expected);
  EXPECT_THAT(Offers("''"), Contains("--model="));
  EXPECT_THAT(Offers("--progr"), ElementsAre("--progress="));
  EXPECT_THAT(Offers("--noeval"), UnorderedElementsAre("--noevaluate", "--noevaluate-only"));
  EXPECT_THAT(Offers("--evaluate ''"), Contains("--model=")) << "a switch may stand alone";
  EXPECT_THAT(Offers("--no-such ''"), Contains("--model="));
}

TEST_F(BashTest, ValuesAreOfferedHoweverTheyAreWritten) {
  for (const char* words : {"--progress = ''", "--progress =", "--progress ''", "--progress="}) {
    const std::string before = std::string(words) == "--progress=" ? "--progress=" : "";
    EXPECT_THAT(Offers(words),
                ElementsAre(before + "auto", before + "bar", before + "line", before + "none"))
        << words;
  }
  EXPECT_THAT(Offers("--tensor_format = N"), ElementsAre("NHWC", "NCHW"));
  EXPECT_THAT(Offers("--model = vgg16_"),
              AllOf(Each(StartsWith("vgg16_")), Contains("vgg16_cifar10")));
  EXPECT_THAT(Offers("--model = li"), ElementsAre("list"));
  EXPECT_THAT(Offers("--evaluate = T"), ElementsAre("True"));
  EXPECT_THAT(Offers("--num-epochs = ''"), ElementsAre()) << "a number";
  EXPECT_THAT(Offers("--help = trac"),
              AllOf(Contains("tracing"), Contains("tracer-output"), Each(StartsWith("trac"))));
  EXPECT_THAT(Offers("--early-stopping-metric = val_prec"), ElementsAre("val_precision"));
}

TEST_F(BashTest, ListsGoOnAfterACommaAndPathsAreFiles) {
  EXPECT_THAT(Offers("--metrics = f1_score,categorical_h"),
              ElementsAre("f1_score,categorical_hinge"));
  std::ofstream(Path("my file.csv")) << "x";
  EXPECT_THAT(Offers("--history-file = " + Path("my")), ElementsAre(Path("my file.csv")));
  EXPECT_THAT(Offers("--history-file=" + Path("my")),
              ElementsAre("--history-file=" + Path("my file.csv")));
  EXPECT_THAT(Offers("--profile = " + Path("my")), ElementsAre(Path("my file.csv")));
  EXPECT_THAT(Offers("--profile = T"), Contains("True"));
}

// Programs of which files are arguments.
TEST_F(BashTest, FilesAreOfferedWhereTheyMayStand) {
  script_ = Script("bash", "apps/predict/predict");
  std::ofstream(Path("a shoe.png")) << "x";
  EXPECT_THAT(Offers(Path("a"), "predict"), ElementsAre(Path("a shoe.png")));
  EXPECT_THAT(Offers("--top = 3 " + Path("a"), "predict"), ElementsAre(Path("a shoe.png")));
  EXPECT_THAT(Offers("--form", "predict"), ElementsAre("--format="));
  EXPECT_THAT(Offers("--model = vgg16_cif", "predict"), ElementsAre("vgg16_cifar10"));
  EXPECT_THAT(Offers("--help = weights-f", "predict"), ElementsAre("weights-format"));
}

// A user who presses tabs.
TEST_F(BashTest, AtATerminalTabsCompleteWords) {
  Terminal bash("/bin/bash", {"--norc", "--noprofile", "-i"});
  if (!bash.why_not().empty()) GTEST_SKIP() << bash.why_not();
  bash.Type("source " + script_ +
            "; benchmark() { printf '<%s>' \"$@\"; echo; }; echo so''urced\n");
  ASSERT_TRUE(bash.ReadUntil("sourced\r\n")) << bash.text();
  bash.Type("benchmark --progr\tno\t--metrics=f1\t,prec\t --evaluate-o\t\n");
  EXPECT_TRUE(bash.ReadUntil("<--progress=none><--metrics=f1_score,precision><--evaluate-only>"))
      << bash.text();
}

// What zsh makes of a line at a terminal, with commands before and after compinit.
void ExpectZshCompletes(const std::string& before, const std::string& after) {
  if (Missing("/usr/bin/zsh")) GTEST_SKIP() << "no zsh; ./setup.sh --dev installs it";
  Terminal zsh("/usr/bin/zsh", {"-f", "-i"});
  if (!zsh.why_not().empty()) GTEST_SKIP() << zsh.why_not();
  zsh.Type("unsetopt zle_bracketed_paste; TERM=dumb; " + before +
           "; autoload -U compinit; compinit -D -u; " + after +
           "; benchmark() { printf '<%s>' \"$@\"; echo; }; echo so''urced\n");
  ASSERT_TRUE(zsh.ReadUntil("sourced\r\n")) << zsh.text();
  zsh.Type("benchmark --progr\tno\t --model=vgg16_cif\t --metrics=f1\t --evaluate-o\t\n");
  EXPECT_TRUE(zsh.ReadUntil(
      "<--progress=none><--model=vgg16_cifar10><--metrics=f1_score><--evaluate-only>"))
      << zsh.text();
}

TEST(ZshTest, AtATerminalTabsCompleteWords) { ExpectZshCompletes(":", "source " + Script("zsh")); }

// As it is installed.
TEST(ZshTest, AFileInAFolderOfFunctionsIsLoaded) {
  const std::string folder = Path("functions");
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(Script("zsh"), folder + "/_benchmark",
                             std::filesystem::copy_options::overwrite_existing);
  ExpectZshCompletes("fpath=(" + folder + " $fpath)", ":");
}

}  // namespace
}  // namespace dtnn
