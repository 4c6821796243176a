// What became of a client that an attempt at a round has asked.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "comm/federation/messages.h"
#include "tensor/errors.h"

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
inline absl::Status CheckLeft(std::span<const Asked> asked, int needed) {
  const auto gone = std::ranges::count(asked, Asked::State::kLeftOut, &Asked::state);
  const int64_t left = int64_t(asked.size()) - gone;
  if (left >= needed) return absl::OkStatus();
  return FailedPrecondition("only ", left, " of ", asked.size(), " clients are left, and ", needed,
                            " are needed");
}

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
