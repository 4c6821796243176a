#include "apps/help/bash_completion.h"

#include <map>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/program/program_command.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Words in capitals are filled in.
constexpr char kScript[] = R"(# Completion of PROGRAM for bash; source it, or save it as
# ~/.local/share/bash-completion/completions/PROGRAM
_dtnn_PROGRAM() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local option='' attached='' before='' kind='' words=''
  COMPREPLY=()
  if [[ $cur == --*=* ]]; then # "=" is no word of its own
    option=${cur%%=*} attached=1 before=$option= cur=${cur#*=}
  elif [[ $cur == = ]]; then
    option=$prev attached=1 cur=''
  elif [[ $prev == = ]]; then
    option=${COMP_WORDS[COMP_CWORD-2]} attached=1
  elif [[ $prev == --* && $cur != -* ]]; then
    option=$prev
  fi
  case ${option//_/-} in
CASES  esac
  # Where a switch stands alone, or nothing that takes a value, the next option follows.
  if [[ -z $attached && ( -z $kind || $kind == switch* ) ]]; then
FILES    words='OPTIONS'
    if [[ $cur == --no* ]]; then words+=' NEGATIONS'; fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    return
  fi
  if [[ $kind == list ]]; then
    compopt -o nospace 2>/dev/null
    if [[ $cur == *,* ]]; then before+=${cur%,*}, cur=${cur##*,}; fi
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$cur")
  if [[ $kind == *paths ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$before" -f -- "$cur")
  fi
}
)";

// Where files may stand, they are offered for a word that does not begin like an option.
constexpr char kFiles[] = R"(    if [[ $cur != -* ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
    fi
)";

// Words hold letters, digits, dashes and the like, but a quote must not end the script's.
std::string Quoted(const std::vector<std::string>& words) {
  return StrCat("'", absl::StrReplaceAll(absl::StrJoin(words, " "), {{"'", ""}}), "'");
}

std::string KindOf(const OptionValues& values) {
  if (values.list) return "list";
  if (values.optional) return values.paths ? "switch-paths" : "switch";
  if (values.paths) return "paths";
  return values.words.empty() ? "any" : "words";
}

}  // namespace

std::string BashCompletion(const ProgramText& program, std::span<const OptionSpec> options,
                           std::span<const std::string_view> topics, const NamesOf& names) {
  std::map<std::string, std::vector<std::string>> by_action;  // options that take the same
  std::vector<std::string> written = {"--help"}, negations, help(topics.begin(), topics.end());
  for (const OptionSpec& spec : options) {
    const OptionValues values = ValuesOf(spec, names);
    std::string action = StrCat("kind=", KindOf(values));
    if (!values.words.empty()) StrAppend(&action, " words=", Quoted(values.words));
    by_action[action].push_back(StrCat("--", spec.name));
    written.push_back(StrCat("--", spec.name, values.optional ? "" : "="));
    if (values.optional) negations.push_back(StrCat("--no", spec.name));
    help.emplace_back(spec.name);
  }
  by_action[StrCat("kind=switch words=", Quoted(help))].emplace_back("--help");
  std::string cases;
  for (const auto& [action, flags] : by_action) {
    StrAppend(&cases, "    ", absl::StrJoin(flags, "|"), ") ", action, " ;;\n");
  }
  const std::string name(program.name);
  const bool packaged = InstalledCommand(name) != name;
  const std::string bound = packaged ? "" : StrCat("complete -F _dtnn_", name, " ", name, "\n");
  return absl::StrReplaceAll(kScript, {{"PROGRAM", name},
                                       {"FILES", program.files ? kFiles : ""},
                                       {"CASES", cases},
                                       {"OPTIONS", absl::StrJoin(written, " ")},
                                       {"NEGATIONS", absl::StrJoin(negations, " ")}}) +
         bound;
}

}  // namespace dtnn
