#include "apps/help/man_page.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "apps/flags/help.h"
#include "apps/flags/value.h"
#include "apps/program/program_command.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"
#include "tensor/text/version.h"

namespace dtnn {
namespace {

// ".IP word" and what it means.
void AppendMeanings(std::string_view meanings, std::string& page) {
  if (meanings.empty()) return;
  page += ".RS\n";
  while (!meanings.empty()) {
    const std::string_view line = meanings.substr(0, meanings.find('\n'));
    meanings.remove_prefix(std::min(line.size() + 1, meanings.size()));
    const size_t colon = line.find(": ");
    StrAppend(&page, ".TP\n.B ", ManText(line.substr(0, colon)), "\n",
              ManText(line.substr(colon + 2)), "\n");
  }
  page += ".RE\n";
}

void AppendOption(const OptionSpec& spec, std::string& page) {
  StrAppend(&page, ".TP\n\\fB", ManText(StrCat("--", spec.name)), "\\fR");
  const std::string value = ValuePlaceholder(spec, /*shortened=*/true);
  const size_t equals = value.find('=');
  if (equals != value.npos) {
    StrAppend(&page, ManText(value.substr(0, equals + 1)), "\\fI",
              ManText(value.substr(equals + 1)), "\\fR");
  }
  StrAppend(&page, "\n", ManText(HelpWithoutList(spec)), ".");
  if (spec.type == OptionType::kWord && spec.meanings.empty()) {
    StrAppend(&page,
              " One of: ", ManText(absl::StrReplaceAll(std::string(spec.words), {{",", ", "}})),
              ".");
  }
  const std::string standard = DefaultText(spec);
  if (!standard.empty() && standard != "None")
    StrAppend(&page, " Default: ", ManText(standard), ".");
  page += "\n";
  AppendMeanings(spec.meanings, page);
}

constexpr char kLauncher[] = "benchmark";

constexpr char kHowToWrite[] =
    ".PP\nWrite \\-\\-name=value or \\-\\-name value; switches stand alone or as \\-\\-noname.\n";

std::string HelpOption(std::span<const std::string_view> topics) {
  std::string lists = "This list";
  if (!topics.empty()) {
    lists = StrCat("The main options; with one of ",
                   absl::StrJoin(std::vector<std::string>(topics.begin(), topics.end()), ", "),
                   ", those of that topic");
  }
  return StrCat(
      ".TP\n\\fB\\-\\-help\\fR[=\\fIWORD\\fR]\n", ManText(lists),
      "; with the name of an option, all about it; with bash or zsh, a script that lets the "
      "shell complete options; with man, this page.\n.TP\n\\fB\\-\\-version\\fR\nThe "
      "version.\n");
}

constexpr char kEnvironment[] =
    ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nThreads of each process.\n.TP\n.B DTNN_SIMD\nThe "
    "instruction set: amx, avx512_bf16, avx512, avx2 or scalar.\n.SH EXIT STATUS\n.TP\n.B "
    "0\nDone.\n.TP\n.B 1\nFailed.\n.TP\n.B 2\nWrong usage.\n";
constexpr char kRankWasLost[] =
    ".TP\n.B 75\nRanks or clients were lost, and \\-\\-resume continues from a checkpoint.\n";
constexpr char kSignal[] = ".TP\n.B 128+n\nEnded by signal n.\n";

// The paragraphs of that kind; all but text as lines of a typewriter.
void AppendParagraphs(const ProgramText& program, ParagraphKind kind, std::string_view command,
                      std::string& page) {
  bool first = true;
  for (const Paragraph& paragraph : ParagraphsOf(program)) {
    if (paragraph.kind != kind) continue;
    if (!std::exchange(first, false)) page += ".PP\n";
    const bool lines = kind != ParagraphKind::kAbout;
    if (lines) page += ".nf\n";
    const std::string text =
        lines ? Calling(program, command, paragraph.text) : NamingDocuments(paragraph.text);
    const std::vector<std::string> split = absl::StrSplit(text, '\n');
    for (std::string line : split) {
      if (line.starts_with("  ")) line.erase(0, 2);
      StrAppend(&page, ManText(line), "\n");
    }
    if (lines) page += ".fi\n";
  }
}

}  // namespace

std::string ManText(std::string_view text) {
  std::string roff;
  for (const char c : OneLine(text, std::numeric_limits<size_t>::max())) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      if (roff.empty() && (c == '.' || c == '\'')) roff += "\\&";
      roff += c;
    }
  }
  return roff;
}

std::string ManPage(const ProgramText& program, std::span<const OptionSection> sections,
                    std::span<const std::string_view> topics) {
  const std::string command = InstalledCommand(program.name);
  const bool packaged = command != program.name;
  const std::string page_name = absl::StrReplaceAll(command, {{" ", "-"}});
  std::string page = StrCat(".TH ", ManText(absl::AsciiStrToUpper(page_name)), " 1 \"\" \"DTNN ",
                            Version(), "\"\n.SH NAME\n", ManText(page_name), " \\- ",
                            ManText(program.does), "\n.SH SYNOPSIS\n");
  AppendParagraphs(program, ParagraphKind::kUsage, command, page);
  page += ".SH DESCRIPTION\n";
  AppendParagraphs(program, ParagraphKind::kAbout, command, page);
  page += kHowToWrite;
  page += ".SH OPTIONS\n";
  for (const OptionSection& section : sections) {
    if (!section.title.empty()) StrAppend(&page, ".SS ", ManText(section.title), "\n");
    for (const OptionSpec& spec : section.options) AppendOption(spec, page);
  }
  page += HelpOption(topics);
  std::string examples;
  AppendParagraphs(program, ParagraphKind::kExample, command, examples);
  if (!examples.empty()) StrAppend(&page, ".SH EXAMPLES\n", examples);
  page += kEnvironment;
  if (program.ranks) page += kRankWasLost;
  page += kSignal;
  if (packaged) {
    page += ".SH SEE ALSO\n.BR dtnn (1)\n";
  } else if (program.name != kLauncher) {
    StrAppend(&page, ".SH SEE ALSO\n.BR ", kLauncher, " (1)\n");
  }
  return page;
}

}  // namespace dtnn
