// The options of a program's monitor, which are the launcher's.

#ifndef DTNN_APPS_MONITOR_MONITOR_FLAGS_H_
#define DTNN_APPS_MONITOR_MONITOR_FLAGS_H_

#include <string_view>
#include <vector>

#include "apps/flags/listen_options.h"
#include "apps/flags/option_spec.h"

namespace dtnn {

// Bound to `options`. `port_help`: of --metrics-port, with what is reported there; a literal.
std::vector<OptionSpec> MonitorFlags(MonitorOptions& options, std::string_view port_help);

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_MONITOR_FLAGS_H_
