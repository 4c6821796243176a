#include "apps/program/job_flags.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "comm/launch_place.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// What the last of `--name=value` and `--name value` says, as the parser understands them.
std::optional<std::string> ValueOf(std::string_view name, std::span<const std::string> arguments) {
  std::optional<std::string> value;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string flag = arguments[i].substr(0, arguments[i].find('='));
    std::ranges::replace(flag, '_', '-');
    if (flag != StrCat("--", name)) continue;
    if (flag.size() < arguments[i].size()) {
      value = arguments[i].substr(flag.size() + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
  }
  return value;
}

}  // namespace

absl::Status AdoptJobFlags(std::span<const std::string> arguments) {
  const std::optional<std::string> transport = ValueOf("transport", arguments);
  if (transport) {
    const Transport known = TransportOf(*transport);
    if (known != Transport::kUnknown) {
      setenv(kTransportVariable, std::string(Name(known)).c_str(), 1);
    }
  }
  // What is wrong with it, or with the transport for it, the parser says.
  if (const std::optional<std::string> elastic = ValueOf("elastic", arguments);
      elastic && ElasticRange::Parse(*elastic).ok() &&
      FindLaunchPlace().transport == Transport::kTcp) {
    // Nobody would answer where they call the one that forms generations.
    if (std::getenv(kRankVariable) != nullptr && std::getenv(kElasticVariable) == nullptr) {
      return UsageError("--elastic=", *elastic, ": these ranks were started together without it (",
                        kRankVariable, " is set); give it to launch: launch --elastic=", *elastic,
                        " ...");
    }
    setenv(kElasticVariable, elastic->c_str(), 1);
  }
  const std::optional<std::string> rendezvous = ValueOf("rendezvous", arguments);
  if (!rendezvous || rendezvous->empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Endpoint endpoint,
                        OfFlag(ParseEndpoint(*rendezvous), "--rendezvous"));
  setenv(kAddressVariable, endpoint.host.c_str(), 1);
  setenv(kPortVariable, std::to_string(endpoint.port).c_str(), 1);
  return absl::OkStatus();
}

void AddJobFlags(std::vector<std::string>& arguments) {
  const char* const elastic = std::getenv(kElasticVariable);
  if (elastic == nullptr || ValueOf("elastic", arguments)) return;
  arguments.insert(std::ranges::find(arguments, "--"), StrCat("--elastic=", elastic));
}

}  // namespace dtnn
