// Which settings an option needs: without them it changes nothing, and a run that gives it is
// warned. Also what --help=NAME says of options that belong together.
//
// OptionSpec::needs, and NeedsOf its group, hold conditions separated by blanks; all must be met. A
// condition is one or more alternatives separated by '|':
//
//   augment-flip            that option is true, or not 0, or not None
//   optimizer=adam,nadam    that option is one of these words, or its list holds one of them
//   !evaluate-only          not so

#ifndef DTNN_APPS_FLAGS_OPTION_NEEDS_H_
#define DTNN_APPS_FLAGS_OPTION_NEEDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"

namespace dtnn {

// Per condition that `options`, as they are in force, do not meet, why the option has no effect:
// "with --optimizer=sgd", "without --augment-flip", "without warm_up in --schedulers".
std::vector<std::string> UnmetNeeds(const OptionSpec& spec, const Options& options);

// Whether an option is set to off, as it would be without being given: no warning
// is needed.
bool IsOffAnyway(const OptionSpec& spec, const Options& options);

// "--optimizer=adam or nadam", "--augment-flip", "no --evaluate-only", "warm_up in --schedulers";
// empty where nothing is needed.
std::string DescribeNeeds(const OptionSpec& spec);

// Whether `option` is among the settings that `spec` needs.
bool NeedsOption(const OptionSpec& spec, std::string_view option);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTION_NEEDS_H_
