#include "apps/help/man_page.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "apps/flags/option_table.h"
#include "apps/testing/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Launch;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string Page(const std::string& program) {
  const auto outcome = Launch(program, "--help=man");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  return outcome.text;
}

// What groff makes of a page, without what bold letters are made of.
std::string Printed(const std::string& page) {
  const std::string file = ::testing::TempDir() + "/page";
  std::ofstream(file) << page;
  const auto warnings = Launch("/usr/bin/groff", "-man -ww -Tutf8 " + file + " 2>&1 >/dev/null");
  EXPECT_EQ(warnings.exit_code, 0);
  EXPECT_EQ(warnings.text, "");
  std::string plain;
  for (const char c : Launch("/usr/bin/groff", "-man -Tascii -P-c " + file).text) {
    if (c != '\b') {
      plain += c;
    } else if (!plain.empty()) {
      plain.pop_back();
    }
  }
  return plain;
}

TEST(ManPageTest, EveryOptionThatWorksIsThereAndTextsStayTexts) {
  const std::string page = Page("apps/benchmark");
  for (const OptionSpec& spec : OptionTable()) {
    const std::string entry = StrCat(".TP\n\\fB", ManText(StrCat("--", spec.name)), "\\fR");
    EXPECT_NE(page.find(entry), page.npos) << spec.name;
  }
  EXPECT_EQ(ManText(".a\\b-c"), "\\&.a\\eb\\-c");
  std::istringstream lines(page);
  int64_t indented = 0, depth = 0;  // what words mean stands further to the right, under an option
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".RS")) ++depth, ++indented;
    if (line.starts_with(".RE")) --depth;
    EXPECT_TRUE(depth == 0 || depth == 1) << line;
    EXPECT_TRUE(depth == 0 || !line.starts_with("\\fB")) << line;
    if (!line.starts_with('.')) continue;
    const std::string macro = line.substr(0, line.find(' '));
    EXPECT_THAT((std::set<std::string>{".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".I", ".RI", ".br",
                                       ".RS", ".RE", ".nf", ".fi", ".PP"}),
                Contains(macro))
        << line;
  }
  EXPECT_EQ(indented, std::ranges::count_if(OptionTable(), [](const OptionSpec& spec) {
              return !spec.meanings.empty();
            }));
}

// The files of all programs.
std::vector<std::filesystem::path> Programs() {
  std::vector<std::filesystem::path> programs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("apps")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || access(entry.path().c_str(), X_OK) != 0) continue;
    if (name != entry.path().parent_path().filename() && name != "benchmark") continue;
    programs.push_back(entry.path());
  }
  EXPECT_GE(programs.size(), 17);
  return programs;
}

// An option of --help that names its values, as "--format=csv|json": the page has each of them.
TEST(ManPageTest, EveryValueThatHelpNamesIsThere) {
  int values = 0;
  for (const std::filesystem::path& path : Programs()) {
    const std::string program = path.string(), page = Page(program);
    std::istringstream lines(Launch(program, "--help=all").text);
    for (std::string line; std::getline(lines, line);) {
      const size_t equals = line.find('=');
      if (!line.starts_with("  --") || equals == line.npos) continue;
      const std::string words = line.substr(equals + 1, line.find(' ', equals) - equals - 1);
      if (words.find('|') == words.npos) continue;
      const std::string option = line.substr(2, equals - 2);
      const size_t begin = page.find(StrCat(".TP\n\\fB", ManText(option), "\\fR"));
      ASSERT_NE(begin, page.npos) << program << " " << option;
      const std::string entry = page.substr(begin, page.find("\n.TP\n\\fB", begin) - begin);
      for (const std::string& word : std::vector<std::string>(absl::StrSplit(words, '|'))) {
        EXPECT_THAT(entry, HasSubstr(ManText(word))) << program << " " << option;
        ++values;
      }
    }
  }
  EXPECT_GE(values, 100);
}

TEST(ManPageTest, ALostRankOrClientIsAnExitCodeOfProgramsThatHaveThem) {
  for (const std::filesystem::path& path : Programs()) {
    const std::string name = path.filename().string();
    EXPECT_EQ(
        Page(path.string()).find(".B 75\n") != std::string::npos,
        (std::set<std::string>{"aggregator", "benchmark", "launch", "simulate"}).contains(name))
        << name;
  }
}

TEST(ManPageTest, EveryProgramHasOneThatGroffHasNothingToWarnOf) {
  if (access("/usr/bin/groff", X_OK) != 0) GTEST_SKIP() << "no groff; ./setup.sh --dev installs it";
  for (const std::filesystem::path& program : Programs()) {
    const std::string path = program.string(), name = program.filename().string();
    const std::string text = Printed(Page(path));
    EXPECT_THAT(text, HasSubstr(StrCat("NAME\n       ", name, " "))) << path;
    EXPECT_THAT(text, HasSubstr(StrCat("SYNOPSIS\n       ", name, " "))) << path;
    EXPECT_THAT(text, HasSubstr("OPTIONS\n")) << path;
    EXPECT_THAT(text, HasSubstr("--help[=WORD]")) << path;
  }
}

TEST(ManPageTest, APageHasWhatHelpHas) {
  if (access("/usr/bin/groff", X_OK) != 0) GTEST_SKIP() << "no groff; ./setup.sh --dev installs it";
  const std::string page = Printed(Page("apps/serve/serve"));
  EXPECT_THAT(page, HasSubstr("serve - answers requests for predictions, by HTTP\n"));
  EXPECT_THAT(page, HasSubstr("\n       serve --model-file=FILE [--model-file=FILE]... [--port"));
  EXPECT_THAT(page, HasSubstr("\n       --max-batch=SAMPLES\n"));
  EXPECT_THAT(page,
              HasSubstr("EXAMPLES\n       serve --model-file=mine.safetensors\n       curl "));
  EXPECT_THAT(page, HasSubstr("SEE ALSO\n       benchmark(1)\n"));
  EXPECT_THAT(Page("apps/serve/serve"), HasSubstr("\nThis list; with the name of an option, all"));
  EXPECT_THAT(Page("apps/benchmark"), HasSubstr("\nThe main options; with one of all, model, "));
  EXPECT_THAT(Printed(Page("apps/simulate/simulate")), HasSubstr("\n   The federation\n"))
      << "titles of options";
}

}  // namespace
}  // namespace dtnn
