#include "apps/help/tool_help.h"

#include <vector>

#include "absl/strings/str_replace.h"
#include "apps/flags/arguments.h"
#include "apps/flags/help.h"
#include "apps/help/bash_completion.h"
#include "apps/help/man_page.h"
#include "apps/help/zsh_completion.h"
#include "apps/program/program_command.h"
#include "models/zoo/zoo.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

std::vector<std::string> NamesOfOption(std::string_view option) {
  std::vector<std::string> names;
  if (option != "model") return names;
  for (const ModelInfo& model : ZooModels()) names.emplace_back(model.name);
  return names;
}

// Lines that can be copied; a program that another one starts is named by its file.
std::string Example(const ProgramText& program, std::string_view lines) {
  const std::string command = ProgramCommand(program.name);
  const std::string text = Calling(program, command, lines);
  if (command == InstalledCommand(program.name)) return text;
  return absl::StrReplaceAll(text, {{" -- benchmark ", " -- bazel-bin/apps/benchmark "}});
}

}  // namespace

std::string TextOf(const ProgramText& program, bool examples) {
  std::string text;
  for (const Paragraph& paragraph : ParagraphsOf(program)) {
    if (paragraph.kind == ParagraphKind::kExample && !examples) continue;
    if (!text.empty()) text += "\n\n";
    switch (paragraph.kind) {
      case ParagraphKind::kUsage:
        text += Calling(program, InstalledCommand(program.name), paragraph.text);
        break;
      case ParagraphKind::kExample:
        text += Example(program, paragraph.text);
        break;
      case ParagraphKind::kAbout:
        text += NamingDocuments(paragraph.text);
        break;
    }
  }
  return text;
}

std::optional<std::string> ShellHelp(const ProgramText& program,
                                     std::span<const OptionSection> sections,
                                     std::span<const std::string_view> topics,
                                     std::string_view topic) {
  if (topic == "man") return ManPage(program, sections, topics);
  if (topic == "bash") return BashCompletion(program, AllOptions(sections), topics, NamesOfOption);
  if (topic == "zsh") return ZshCompletion(program, AllOptions(sections), topics, NamesOfOption);
  return std::nullopt;
}

std::string ToolHelp(const ProgramText& program, std::span<const OptionSection> sections,
                     std::string_view topic) {
  if (std::optional<std::string> text = ShellHelp(program, sections, {}, topic)) return *text;
  const std::vector<OptionSpec> options = AllOptions(sections);
  const Syntax syntax = {.options = options};
  if (const OptionSpec* option = FindSpelling(topic, syntax))
    return DescribeOption(*option, syntax);
  std::string help = TextOf(program) + "\n";
  for (const OptionSection& section : sections) {
    help += "\n";
    if (!section.title.empty()) StrAppend(&help, section.title, ":\n");
    help += DescribeOptions(section.options);
  }
  return help;
}

std::string ToolHelp(const ProgramText& program, std::span<const OptionSpec> options,
                     std::string_view topic) {
  const OptionSection sections[] = {{.title = {}, .options = {options.begin(), options.end()}}};
  return ToolHelp(program, sections, topic);
}

}  // namespace dtnn
