// What one round was, for files and people.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_RECORD_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_RECORD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/messages.h"
#include "comm/federation/privacy/privacy.h"

namespace dtnn::federation {

struct RoundRecord {
  int64_t round = 0;                            // from 1
  int64_t rounds = 0;                           // that there are; 0: as the program knows
  uint64_t attempts = 0;                        // it took so many
  double seconds = 0;                           // of the last one
  uint64_t bytes_sent = 0, bytes_received = 0;  // in it, over all clients
  std::vector<Asked> clients;                   // that it asked
  // Means over the accepted clients, weighted with their samples; of metrics that all of them have.
  Metrics metrics = {};
  int64_t samples = 0;  // of all of them
  // With differential privacy, of all rounds up to this one: PrivacyLedger's accountants.
  struct Epsilons {
    double model = 0, aggregator = 0;
  };
  std::optional<Epsilons> epsilons = {};
  // What a round that does not wait (buffer/update_buffer.h) was.
  struct Buffer {
    double staleness = 0;   // mean, of the accepted updates
    int64_t too_stale = 0;  // updates that were not used for it
  };
  std::optional<Buffer> buffer = {};
  // Where the clip of updates adapts: that of the round, and the share of updates that were not
  // longer, but for its noise.
  struct Clipping {
    double clip = 0, below = 0;
  };
  std::optional<Clipping> clipping = {};
  std::optional<double> simulated_seconds = {};  // of a simulated clock (../simulation)
};

// The last round of `state`, which was an attempt at these clients.
RoundRecord RecordOfRound(const FederationState& state, const PrivacyOptions& privacy,
                          std::vector<Asked> clients);

// After a round with this clip that is done: the next one's in the state. `below`: nothing where
// the clip stays.
std::optional<RoundRecord::Clipping> FollowClip(const PrivacyOptions& privacy, double clip,
                                                std::optional<double> below,
                                                FederationState& state);

// What the clients of a round make it.
RoundRecord::Buffer BufferRecordOf(std::span<const Asked> clients, int64_t too_stale);

// `samples` and `metrics` of what the record's clients have reported.
void SumReports(RoundRecord& record);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROUND_RECORD_H_
