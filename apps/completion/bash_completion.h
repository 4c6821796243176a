// A script that lets bash complete a program's options and their values.
//
// To be sourced, or saved as a file of the program's name in
// ~/.local/share/bash-completion/completions. Needs nothing but bash 4.

#ifndef DTNN_APPS_COMPLETION_BASH_COMPLETION_H_
#define DTNN_APPS_COMPLETION_BASH_COMPLETION_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/completion/values.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// `topics`: what --help=WORD takes besides options. Options that are not available are left out.
std::string BashCompletion(std::string_view program, std::span<const OptionSpec> options,
                           std::span<const std::string_view> topics, const NamesOf& names);

}  // namespace dtnn

#endif  // DTNN_APPS_COMPLETION_BASH_COMPLETION_H_
