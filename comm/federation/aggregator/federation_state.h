// What the run of a federation consists of between two rounds.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_FEDERATION_STATE_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_FEDERATION_STATE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/frame.h"
#include "comm/federation/messages.h"
#include "comm/federation/privacy/privacy.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

struct FederationState {
  int64_t rounds_done = 0;
  uint64_t attempts = 0;  // at rounds, failed ones included
  // Plain parameters, or, where only clients can read sums, from the first round on the sum and
  // what makes it the parameters.
  std::vector<float> parameters;
  ParametersFrom from;
  std::vector<Bytes> encrypted;
  KeyName key{};  // with which these are encrypted
  Moments moments;
  std::vector<float> control = {};  // of a strategy with control variates; empty before a round
  double clip = 0;                  // of the next round, where it adapts; 0: the first one
  PrivacyLedger privacy = {};  // what was revealed of a client so far, with differential privacy
};

// The clip of the next round, where it adapts; else 0. `asked`: so many clients, of which `quorum`
// are enough; it is not so small that their noise would be lost in rounding (LeastNoise).
double ClipOfRound(const Protector& protector, int quorum, int asked, const FederationState& state);

// The numbers that clients send, of as many parameters.
inline size_t ValuesOfUpdate(const ModelFacts& model, bool control) {
  return size_t(model.values + (control ? model.trainable : 0));
}

// The parameters, and the control variate after them, if it is sent.
std::vector<float> NumbersOfRound(const FederationState& state, size_t trainable, bool control);

// A round that has asked these clients is done: the mean of those that it accepted makes the next
// parameters, and its numbers after these the next control variate. `all_samples`: of all clients
// that could have been asked. DataLoss where they are not finite.
absl::Status TakeAverage(const StrategyOptions& strategy, size_t trainable,
                         std::span<const float> average, std::span<const Asked> asked,
                         int64_t all_samples, FederationState& state);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_FEDERATION_STATE_H_
