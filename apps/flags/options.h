// What the launcher was asked to do: a run (models/run/options), and how it is shown. A row of the
// table of options binds a flag to each member (option_table.h; README.md lists the flags).

#ifndef DTNN_APPS_FLAGS_OPTIONS_H_
#define DTNN_APPS_FLAGS_OPTIONS_H_

#include <set>
#include <string>
#include <string_view>

#include "apps/flags/listen_options.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Names of the options that are on the command line, as the table of options spells them, even
// where the value is the default.
using GivenOptions = std::set<std::string_view>;

struct Options : RunOptions {
  GivenOptions given = {};
  std::string options_file = {};    // it was read before, and is among these
  std::string save_options = {};    // file for all of these, to be read again
  bool dry_run = false;             // only says what the run would need
  std::string progress = "auto";    // or bar, line or none
  std::string log_format = "text";  // or json
  MonitorOptions monitor = {};

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_OPTIONS_H_
