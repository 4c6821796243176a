// Which clients an attempt at a round asks.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CHOICE_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/federation/agreed.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

// Attempts at one round: with clients that are always too slow it would never end.
inline constexpr uint64_t kMostAttempts = 50;

struct Candidate {
  int id = 0;
  std::string name = {};
  int losses = 0;  // attempts at this round that it was lost in
};

struct ChoiceOptions {
  size_t min_clients = 1;
  double fraction = 1;              // of those that are there
  size_t most = kMostParticipants;  // MostClients of the options
  // The choice is a function of these two, and of the clients that are there. Where less is
  // revealed of a client because it may not have been asked (renyi.h), nobody may know the seed.
  Secret seed = {};
  uint64_t attempt = 0;
};

struct Choice {
  std::vector<int> ids = {};  // in the order of names; empty: too few are there
  double sampling = 1;        // of those who could be asked, the share that is
  bool reluctant = false;     // one was lost again and again in this round: others would do better
};

// One that was lost again and again is asked only where there are too few others.
absl::StatusOr<Choice> ChooseClients(std::vector<Candidate> there, const ChoiceOptions& options);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_CHOICE_H_
