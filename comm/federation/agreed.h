// What both ends of a federation must have alike, beside the messages.

#ifndef DTNN_COMM_FEDERATION_AGREED_H_
#define DTNN_COMM_FEDERATION_AGREED_H_

#include <cstddef>
#include <string_view>

namespace dtnn::federation {

// In the handshake of connections (comm/tcp/handshake.h) every client is rank 1 of 2; who they are
// they say afterwards. The secret is one derived from the job's, so ranks of a job with the same
// secret are no clients.
inline constexpr std::string_view kHandshakePurpose = "DTNN federation: handshake";
inline constexpr int kAggregatorRank = 0, kClientRank = 1, kHandshakeRanks = 2;

// Tags of updates and sums (comm/codec/authenticated.h), with the nonce of the aggregator's
// process.
inline constexpr std::string_view kTagPurpose = "DTNN federation: tags";

// Numbers of a chunk of plain parameters.
inline constexpr size_t kParameterChunk = size_t{1} << 16;

// Of one client.
inline constexpr size_t kMostMetrics = 32;

// Sums hold so many updates at most.
inline constexpr int kMostParticipants = 64;

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGREED_H_
