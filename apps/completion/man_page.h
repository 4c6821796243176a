// A program's manual page, in the macros of man(7).

#ifndef DTNN_APPS_COMPLETION_MAN_PAGE_H_
#define DTNN_APPS_COMPLETION_MAN_PAGE_H_

#include <span>
#include <string>
#include <string_view>

#include "apps/flags/option_spec.h"

namespace dtnn {

// Text of any origin: backslashes, dashes and dots at the begin of a line stay what they are.
std::string ManText(std::string_view text);

// The launcher's page, options under the headings of their groups; those that are not available are
// left out.
std::string ManPage(std::string_view program, std::span<const OptionSpec> options);

}  // namespace dtnn

#endif  // DTNN_APPS_COMPLETION_MAN_PAGE_H_
