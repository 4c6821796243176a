// What a program says of itself, once: --help, its manual page and the list of programs read it.

#ifndef DTNN_APPS_HELP_PROGRAM_TEXT_H_
#define DTNN_APPS_HELP_PROGRAM_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/option_spec.h"

namespace dtnn {

struct ProgramText {
  std::string_view name;  // of the program's file
  std::string_view does;  // a few words, as after its name in a list
  // Paragraphs, with an empty line between two. Those of which each line begins with two blanks are
  // examples; those that begin with the name, or with mpirun, are lines of usage.
  std::string_view text;
  bool files = false;  // it takes names of files besides options
  bool ranks =
      false;  // it starts or joins ranks, or has clients: exit code 75 says that some were lost
};

// Options under a title, which may be empty.
struct OptionSection {
  std::string_view title;
  std::vector<OptionSpec> options;
};
std::vector<OptionSpec> AllOptions(std::span<const OptionSection> sections);

enum class ParagraphKind : uint8_t { kUsage, kAbout, kExample };
struct Paragraph {
  ParagraphKind kind;
  std::string_view text;
};
std::vector<Paragraph> ParagraphsOf(const ProgramText& program);

// Lines of usage or of an example, with `command` in place of the name: "dtnn predict"
// (apps/program/program_command.h). Once in each line, where it is a word of its own.
std::string Calling(const ProgramText& program, std::string_view command, std::string_view lines);

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_PROGRAM_TEXT_H_
