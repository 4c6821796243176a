// What a client gets for one round.

#ifndef DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_
#define DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_

#include <cstdint>
#include <vector>

#include "comm/federation/compression.h"
#include "comm/federation/messages.h"
#include "comm/model_sync.h"

namespace dtnn::federation {

// One attempt at a round. Another process of the aggregator may give a number again.
struct AttemptId {
  RunNonce nonce{};  // of the aggregator's process
  uint64_t number = 0;

  friend bool operator==(const AttemptId&, const AttemptId&) = default;
};

struct RoundTask {
  bool over = false;
  int64_t round = 0, rounds = 0;  // from 1
  double proximal = 0;            // mu: add mu (parameters now - these) to gradients
  double deadline = 0;            // seconds that the aggregator waits for the update
  RankWeighting weighting = RankWeighting::kEqual;  // of updates
  bool by_steps = false;  // weights are divided by updates: right for plain SGD alone
  std::vector<float> parameters = {};
  // The aggregator's control variate; empty: the strategy has none.
  std::vector<float> control = {};
  Compression compression = {};  // of the update
  AttemptId attempt = {};        // this one
  // Which has made the parameters; AttemptId(): not known, or none.
  AttemptId made_by = {};
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_
