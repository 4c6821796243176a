#include "apps/completion/man_page.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

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
  const std::string standard = DefaultText(spec);
  if (!standard.empty() && standard != "None")
    StrAppend(&page, " Default: ", ManText(standard), ".");
  page += "\n";
  AppendMeanings(spec.meanings, page);
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

std::string ManPage(std::string_view program, std::span<const OptionSpec> options) {
  const std::string name = ManText(program);
  std::string page = StrCat(
      ".TH ", absl::AsciiStrToUpper(name), " 1\n.SH NAME\n", name,
      " \\- trains and tests neural networks\n.SH SYNOPSIS\n.B ", name,
      "\n.RI [ options ]\n.br\n.B ", "mpirun \\-np\n.I ranks\n.B ", name,
      " \\-\\-parallel=data\n.RI [ options ]\n.SH DESCRIPTION\nWithout options, trains a small "
      "convolutional network on Fashion\\-MNIST. With\n.BR \\-\\-model ,\n.B \\-\\-dataset\nand\n"
      ".BR \\-\\-dataset\\-path ,\na network of your choice. Write \\-\\-name=value or \\-\\-name "
      "value; switches stand alone or as \\-\\-noname.\n.SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR[=\\fI"
      "WORD\\fR]\nThe main options; with a word, all about an option or a topic; with all, all "
      "options.\n");
  for (int g = 0; g < kOptionGroups; ++g) {
    const OptionGroup group = OptionGroup(g);
    bool first = true;
    for (const OptionSpec& spec : options) {
      if (spec.group != group) continue;
      if (std::exchange(first, false)) StrAppend(&page, ".SS ", ManText(Title(group)), "\n");
      AppendOption(spec, page);
    }
  }
  page +=
      ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nThreads of each process.\n.TP\n.B DTNN_SIMD\nThe "
      "instruction set: amx, avx512_bf16, avx512, avx2 or scalar.\n.SH EXIT STATUS\n.TP\n.B "
      "0\nDone.\n.TP\n.B "
      "1\n"
      "Failed.\n.TP\n.B 2\nWrong usage.\n.TP\n.B 75\nA rank was lost, and \\-\\-resume continues "
      "from a checkpoint.\n.TP\n.B 128+n\nEnded by signal n.\n";
  return page;
}

}  // namespace dtnn
