// A script that lets zsh complete a program's options and their values, with what each means.
//
// To be sourced after compinit, or saved as _PROGRAM in a folder of $fpath.

#ifndef DTNN_APPS_COMPLETION_ZSH_COMPLETION_H_
#define DTNN_APPS_COMPLETION_ZSH_COMPLETION_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/completion/values.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// `topics`: what --help=WORD takes besides options. Options that are not available are left out.
std::string ZshCompletion(std::string_view program, std::span<const OptionSpec> options,
                          std::span<const std::string_view> topics, const NamesOf& names);

}  // namespace dtnn

#endif  // DTNN_APPS_COMPLETION_ZSH_COMPLETION_H_
