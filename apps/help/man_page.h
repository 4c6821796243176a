// A program's manual page, in the macros of man(7).

#ifndef DTNN_APPS_HELP_MAN_PAGE_H_
#define DTNN_APPS_HELP_MAN_PAGE_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/help/program_text.h"

namespace dtnn {

// Text of any origin: backslashes, dashes and dots at the begin of a line stay what they are.
std::string ManText(std::string_view text);

// Options stand under the titles of their sections. `topics`: what --help=TOPIC takes besides
// options; where there are any, --help alone lists the main options. A program of the Debian
// package, which is called "dtnn predict", has the page dtnn-predict(1).
std::string ManPage(const ProgramText& program, std::span<const OptionSection> sections,
                    std::span<const std::string_view> topics = {});

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_MAN_PAGE_H_
