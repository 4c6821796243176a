// What an attempt at a round tells of a client, with differential privacy: before it begins, at
// most; when it is over, what it has told.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_PRIVACY_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_PRIVACY_H_

#include "comm/federation/privacy/privacy.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

// Clients of an attempt.
struct AttemptClients {
  int quorum = 1;       // updates that are enough
  int asked = 0;        // clients
  double sampling = 1;  // the share of those that were there
};

struct AttemptResult {
  bool has_sum = false;
  int accepted = 0;  // updates in it
  int opened = 0;    // Attempt::opened
};

// At most: a sum of the fewest updates of which there is one, of which each is read where that can
// be.
void ChargeAttempt(const Protector& protector, const AttemptClients& clients,
                   PrivacyLedger& ledger);
// What the attempt has told of a client, whether it came to an end or not.
void AccountAttempt(const Protector& protector, const AttemptClients& clients,
                    const AttemptResult& result, PrivacyLedger& ledger);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_PRIVACY_H_
