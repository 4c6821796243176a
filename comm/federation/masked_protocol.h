// Notes of masked sums (comm/secrets/masked): 0 advertisements, 1 sealed shares, then who has
// survived, and, where clients have neighbours, their votes about that.

#ifndef DTNN_COMM_FEDERATION_MASKED_PROTOCOL_H_
#define DTNN_COMM_FEDERATION_MASKED_PROTOCOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/federation/protocol.h"

namespace dtnn::federation {

// Bits after the point of the integers that so many clients add up: 20, or fewer where many take
// part.
int MaskedFractionBits(int participants);

// The protector's is Protection::kMasked.
absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeMaskedServer(const Protector& protector,
                                                                 const SumFacts& sum);
absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeMaskedClient(const Protector& protector,
                                                                 const SumFacts& sum, int position,
                                                                 const Secret& key,
                                                                 const Company& company);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_MASKED_PROTOCOL_H_
