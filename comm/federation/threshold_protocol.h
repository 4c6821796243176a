// Notes of sums with threshold keys (comm/secrets/ckks/threshold.h): 0 what each client's share of
// the joint key will hash to, 1 the shares, each with a tag over what all have received and the
// whole note 0. Each sum has a joint key of its own, so a client that is gone takes no more than
// one sum with it, and no key outlives its round.

#ifndef DTNN_COMM_FEDERATION_THRESHOLD_PROTOCOL_H_
#define DTNN_COMM_FEDERATION_THRESHOLD_PROTOCOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/federation/protocol.h"

namespace dtnn::federation {

using ContextPointer = std::shared_ptr<const ckks::CkksContext>;

absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeThresholdServer(ContextPointer context,
                                                                    const SumFacts& sum);
// `key`: of the tags, which only clients have; zeros: none.
absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeThresholdClient(ContextPointer context,
                                                                    const SumFacts& sum,
                                                                    int position,
                                                                    const Secret& key = {});

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_THRESHOLD_PROTOCOL_H_
