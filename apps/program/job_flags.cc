#include "apps/program/job_flags.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "apps/flags/arguments.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

RankOptions JobFlags(std::span<const std::string> arguments) {
  RankOptions ranks;
  const auto transport = LastValueOf("transport", arguments);
  if (transport && TransportOf(*transport) != Transport::kUnknown) {
    ranks.transport = TransportOf(*transport);
  }
  const auto rendezvous = LastValueOf("rendezvous", arguments);
  if (rendezvous && ParseEndpoint(*rendezvous).ok()) ranks.rendezvous = *rendezvous;
  const auto elastic = LastValueOf("elastic", arguments);
  if (elastic && ElasticRange::Parse(*elastic).ok()) ranks.elastic = *elastic;
  return ranks;
}

void AddElastic(const LaunchPlace& place, std::vector<std::string>& arguments) {
  if (place.elastic.empty() || LastValueOf("elastic", arguments)) return;
  arguments.insert(std::ranges::find(arguments, "--"), StrCat("--elastic=", place.elastic));
}

}  // namespace dtnn
