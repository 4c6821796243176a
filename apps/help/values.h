// What may follow an option on a command line, as completion needs to know it.

#ifndef DTNN_APPS_HELP_VALUES_H_
#define DTNN_APPS_HELP_VALUES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/option_spec.h"

namespace dtnn {

struct OptionValues {
  bool optional = false;                // the option may stand alone: a switch
  bool list = false;                    // several, separated by commas
  bool paths = false;                   // names of files and folders
  std::vector<std::string> words = {};  // empty and no paths: anything, say a number
};

// `names`: of options whose values are names that the table does not hold (networks).
using NamesOf = std::function<std::vector<std::string>(std::string_view option)>;

OptionValues ValuesOf(const OptionSpec& spec, const NamesOf& names);

}  // namespace dtnn

#endif  // DTNN_APPS_HELP_VALUES_H_
