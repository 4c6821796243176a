// What both ends of a federation must have alike, beside the messages.

#ifndef DTNN_COMM_FEDERATION_AGREED_H_
#define DTNN_COMM_FEDERATION_AGREED_H_

#include <cstddef>
#include <string_view>

namespace dtnn::federation {

// Purposes of the aggregator's door (comm/transport/meeting/door.h), so that ranks of a job with
// the same secret are not taken for clients; and of the secret where a carrier of datagrams is in
// between.
inline constexpr std::string_view kAggregatorPurpose = "the aggregator of a federation";
inline constexpr std::string_view kDatagramsPurpose = "DTNN federation: handshake";

// Tags of updates and sums (comm/secrets/sums/authenticated.h), with the nonce of the aggregator's
// process. Over TCP without TLS, where the two ends prove the secret only when they meet, nothing
// else shows that a host in between has changed an update. From each other they protect no client:
// all know the secret.
inline constexpr std::string_view kTagPurpose = "DTNN federation: tags";

// Numbers of a chunk of plain parameters.
inline constexpr size_t kParameterChunk = size_t{1} << 16;

// Metrics of one client.
inline constexpr size_t kMostMetrics = 32;

// A round asks so many clients at most, and fewer where their updates are protected
// (protection.h).
inline constexpr int kMostParticipants = 4096;

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGREED_H_
