#include "comm/federation/aggregator/lost_clients.h"

namespace dtnn::federation {

void LostClients::Clear() {
  excluded_.clear();
  losses_.clear();
}

void LostClients::Count(std::span<const Asked> asked, bool failed, int min_clients) {
  const bool together = failed && int(asked.size()) <= min_clients;
  for (const Asked& client : asked) {
    if (client.at_fault) excluded_.insert(client.name);
    const bool lost = together || client.state == Asked::State::kLeftOut || client.disputed;
    if (lost && !client.at_fault) ++losses_[client.name];
  }
}

int LostClients::LossesOf(const std::string& name) const {
  const auto found = losses_.find(name);
  return found == losses_.end() ? 0 : found->second;
}

}  // namespace dtnn::federation
