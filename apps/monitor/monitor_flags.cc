#include "apps/monitor/monitor_flags.h"

#include "apps/flags/tool_flags.h"

namespace dtnn {

std::vector<OptionSpec> MonitorFlags(MonitorOptions& options, std::string_view port_help) {
  return {LikeLauncher("metrics-port", &options.port, port_help),
          LikeLauncher("metrics-listen", &options.listen),
          LikeLauncher("metrics-certificate", &options.certificate),
          LikeLauncher("metrics-key", &options.key),
          LikeLauncher("metrics-token-file", &options.token_file),
          LikeLauncher("metrics-allow-unprotected", &options.allow_unprotected),
          LikeLauncher("metrics-allowed-hosts", &options.allowed_hosts)};
}

}  // namespace dtnn
