// A script that lets bash complete a program's options and their values.
//
// To be sourced, or saved as a file of the program's name in
// ~/.local/share/bash-completion/completions. Needs nothing but bash 4. The function of program X
// is _dtnn_X; for a program of the Debian package it is not bound to a command, since the
// completion of `dtnn` calls it.

#ifndef DTNN_APPS_HELP_BASH_COMPLETION_H_
#define DTNN_APPS_HELP_BASH_COMPLETION_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/flags/option_spec.h"
#include "apps/help/program_text.h"
#include "apps/help/values.h"

namespace dtnn {

// `topics`: what --help=WORD takes besides options.
std::string BashCompletion(const ProgramText& program, std::span<const OptionSpec> options,
                           std::span<const std::string_view> topics, const NamesOf& names);

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_BASH_COMPLETION_H_
