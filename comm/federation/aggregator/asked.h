// What became of a client that an attempt at a round has asked.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/messages.h"

namespace dtnn::federation {

struct Asked {
  enum class State : uint8_t { kWaiting, kAccepted, kLeftOut };
  std::string name = {};
  int64_t samples = 0, steps = 1;  // that it trains on, and makes, in a round
  int64_t clients = 0;             // of an aggregator, as it said before the round
  double factor = 1;
  int64_t staleness = 0;  // of its update: how often the parameters have moved since it was asked
  State state = State::kWaiting;
  // It was left out; of one whose update is in the sum, what it has done wrong besides.
  std::string why = {};
  bool at_fault = false;  // for what it sent, or that it has no update
  bool disputed = false;  // it, or another client of the sum, lies
  Report report = {};     // where it has reported
};

// FailedPrecondition where fewer than `needed` of them are not left out.
absl::Status CheckLeft(std::span<const Asked> asked, int needed);

// Protocols, sums and `why` know clients by their positions among those that were asked, since
// clients, who may read it, do not know who the others are: "client 3". The same for the log, with
// names.
std::string WithNames(std::string_view text, std::span<const Asked> asked);
absl::Status WithNames(const absl::Status& status, std::span<const Asked> asked);
std::vector<Asked> WithNames(std::span<const Asked> asked);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
