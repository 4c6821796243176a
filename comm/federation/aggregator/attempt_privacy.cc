#include "comm/federation/aggregator/attempt_privacy.h"

#include <algorithm>

namespace dtnn::federation {

void ChargeAttempt(const Protector& protector, const AttemptClients& clients,
                   PrivacyLedger& ledger) {
  const PrivacyOptions& privacy = protector.privacy();
  const bool reads_updates = protector.protection() == Protection::kNone;
  const int together = protector.together(clients.quorum, clients.asked);
  const int fewest = std::max(together, clients.quorum);
  if (reads_updates) ledger.AddUpdates(privacy);
  if (protector.readable() && !reads_updates) ledger.AddRead(privacy, fewest, together);
  ledger.AddModel(privacy, fewest, together, clients.sampling);
}

void AccountAttempt(const Protector& protector, const AttemptClients& clients,
                    const AttemptResult& result, PrivacyLedger& ledger) {
  const PrivacyOptions& privacy = protector.privacy();
  if (protector.protection() == Protection::kNone) ledger.AddUpdates(privacy);
  const int together = protector.together(clients.quorum, clients.asked);
  if (result.opened > 0) ledger.AddRead(privacy, result.opened, together);
  if (result.has_sum) ledger.AddModel(privacy, result.accepted, together, clients.sampling);
}

}  // namespace dtnn::federation
