#include "apps/program/job_flags.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "comm/ranks/elastic/elastic_range.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/text/str_cat.h"

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

RankOptions JobFlags(std::span<const std::string> arguments) {
  RankOptions ranks;
  const auto transport = ValueOf("transport", arguments);
  if (transport && TransportOf(*transport) != Transport::kUnknown) {
    ranks.transport = TransportOf(*transport);
  }
  const auto rendezvous = ValueOf("rendezvous", arguments);
  if (rendezvous && ParseEndpoint(*rendezvous).ok()) ranks.rendezvous = *rendezvous;
  const auto elastic = ValueOf("elastic", arguments);
  if (elastic && ElasticRange::Parse(*elastic).ok()) ranks.elastic = *elastic;
  return ranks;
}

void AddElastic(const LaunchPlace& place, std::vector<std::string>& arguments) {
  if (place.elastic.empty() || ValueOf("elastic", arguments)) return;
  arguments.insert(std::ranges::find(arguments, "--"), StrCat("--elastic=", place.elastic));
}

}  // namespace dtnn
