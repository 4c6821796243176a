// A script that lets zsh complete a program's options and their values, with what each means.
//
// To be sourced after compinit, or saved as _PROGRAM in a folder of $fpath.

#ifndef DTNN_APPS_HELP_ZSH_COMPLETION_H_
#define DTNN_APPS_HELP_ZSH_COMPLETION_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/flags/option_spec.h"
#include "apps/help/program_text.h"
#include "apps/help/values.h"

namespace dtnn {

// `topics`: what --help=WORD takes besides options.
std::string ZshCompletion(const ProgramText& program, std::span<const OptionSpec> options,
                          std::span<const std::string_view> topics, const NamesOf& names);

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_ZSH_COMPLETION_H_
