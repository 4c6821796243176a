#include "apps/help/program_text.h"

#include <algorithm>

namespace dtnn {
namespace {

// The part of `rest` before `end`, which is removed from it with what stands before it.
std::string_view TakeUntil(std::string_view end, std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(part.size() + end.size(), rest.size()));
  return part;
}

ParagraphKind KindOf(std::string_view name, std::string_view paragraph) {
  if (paragraph.starts_with("  ")) return ParagraphKind::kExample;
  const std::string_view first = paragraph.substr(0, paragraph.find_first_of(" \n"));
  return first == name || first == "mpirun" ? ParagraphKind::kUsage : ParagraphKind::kAbout;
}

// Where `word` begins in `line`, between blanks; npos: nowhere.
size_t FindWord(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || line[at - 1] == ' ') && (end == line.size() || line[end] == ' ')) return at;
  }
  return line.npos;
}

}  // namespace

std::vector<OptionSpec> AllOptions(std::span<const OptionSection> sections) {
  std::vector<OptionSpec> all;
  for (const OptionSection& section : sections) {
    all.insert(all.end(), section.options.begin(), section.options.end());
  }
  return all;
}

std::vector<Paragraph> ParagraphsOf(const ProgramText& program) {
  std::vector<Paragraph> paragraphs;
  for (std::string_view rest = program.text; !rest.empty();) {
    const std::string_view text = TakeUntil("\n\n", rest);
    paragraphs.push_back({KindOf(program.name, text), text});
  }
  return paragraphs;
}

std::string Calling(const ProgramText& program, std::string_view command, std::string_view lines) {
  std::string text;
  for (std::string_view rest = lines; !rest.empty();) {
    std::string line(TakeUntil("\n", rest));
    const size_t at = FindWord(line, program.name);
    if (at != line.npos) line.replace(at, program.name.size(), command);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

}  // namespace dtnn
