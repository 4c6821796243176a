#include "apps/help/zsh_completion.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Inside single quotes and the brackets or words of _arguments.
std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(
      absl::string_view(text.data(), text.size()),
      {{"\\", "\\\\"}, {"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string JoinEscaped(const std::vector<std::string>& words) {
  return absl::StrJoin(
      words, " ", [](std::string* out, const std::string& word) { out->append(Escaped(word)); });
}

// What completes a value, after ":".
std::string ActionOf(const OptionValues& values) {
  if (values.list) return StrCat("_sequence compadd - ", JoinEscaped(values.words));
  if (values.paths && !values.words.empty()) {
    return StrCat("_alternative \"words:word:(", JoinEscaped(values.words), ")\" ",
                  "\"files:file:_files\"");
  }
  if (values.paths) return "_files";
  return values.words.empty() ? " " : StrCat("(", JoinEscaped(values.words), ")");
}

}  // namespace

std::string ZshCompletion(const ProgramText& text, std::span<const OptionSpec> options,
                          std::span<const std::string_view> topics, const NamesOf& names) {
  const std::string_view program = text.name;
  std::vector<std::string> help(topics.begin(), topics.end());
  std::string lines;
  for (const OptionSpec& spec : options) {
    help.emplace_back(spec.name);
    const OptionValues values = ValuesOf(spec, names);
    // A value that may lack has two colons, and "=-" stands for one in the same word.
    StrAppend(&lines, " \\\n    '--", spec.name, values.optional ? "=-" : "=", "[",
              Escaped(spec.help), "]", values.optional ? "::" : ":",
              Escaped(spec.unit.empty() ? "value" : spec.unit), ":", ActionOf(values), "'");
  }
  const std::string function = StrCat("_dtnn_", program);
  // Zsh calls the file _predict as a function of that name; _dtnn calls the function itself.
  return StrCat("#compdef ", program, "\n# Completion of ", program,
                " for zsh; source it after compinit, or save it as _", program,
                " in a folder of $fpath\n", function, "() {\n  _arguments \\\n",
                "    '--help=-[explain an option or a topic]::word:(", JoinEscaped(help), ")'",
                lines, text.files ? " \\\n    '*:file:_files'" : "",
                "\n}\ncase \" ${funcstack[*]-} \" in\n  *' _dtnn '*) ;;\n  ' _", program, " '*) ",
                function, " \"$@\" ;;\n  *) compdef ", function, " ", program, " ;;\nesac\n");
}

}  // namespace dtnn
