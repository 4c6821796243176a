// The aggregator of a federation: clients come, train on data of their own, and go; in each round
// it sends the parameters to some of them and makes the next ones of their answers.
//
// One thread, which sleeps in poll. A round ends when all clients that were asked have answered, or
// at the deadline; with fewer updates than `min_clients` it is tried again with those who are there
// then. Who answers late is told so, and is not asked again before it has answered. A client whose
// update cannot be used (NaN, another size, a norm beyond the limit, no update at all) is left out,
// named, and not asked again in that round; one that is lost again and again is asked in it only
// where there are too few others. After each round `round_done` writes what a resumed run needs.
// Nothing that a client sends can make the aggregator end or wait beyond the deadline.
//
// Clients prove that they know the job's secret; TLS is the stream's (comm/tls). A client that
// comes again under its name takes the place of its older connection, which is told so: a second
// process of that name ends the first one. Where clients share a key, those take part who have the
// one of the sum that the federation goes on with, or, before there is one, the one that most have.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/crypto/job_secret.h"
#include "comm/federation/attempt.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/privacy.h"
#include "comm/federation/protection.h"
#include "comm/federation/strategy.h"

namespace dtnn::federation {

// What a run consists of between two rounds.
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
  PrivacyLedger privacy = {};  // what was told of a client so far, with differential privacy
};

struct RoundRecord {
  int64_t round = 0;                            // from 1
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
};

struct AggregatorOptions {
  MeetingPlace place;
  ModelFacts model;
  ProtectionOptions protection = {};
  StrategyOptions strategy = {};
  int64_t rounds = 1;
  int min_clients = 1;
  double client_fraction = 1;  // of those that are there; at least min_clients
  std::chrono::milliseconds deadline{};
  // So long it waits for min_clients; clients hear of it four times as often.
  std::chrono::milliseconds timeout{};
  double max_update_norm = 0;
  uint64_t seed = 0;  // of the choice of clients
  std::function<void(std::string_view line)> say = {}, warn = {};
  std::function<bool()> interrupted = {};
  std::function<absl::Status(const RoundRecord&, const FederationState&)> round_done = {};
};

// Runs the rounds that are left, then gives all clients that are there the final parameters.
// InvalidArgument for options that make no sense, Unavailable where not enough clients came in
// time, Cancelled where it was interrupted; the errors of round_done.
absl::Status RunAggregator(const AggregatorOptions& options, const JobSecret& secret,
                           FederationState& state);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_H_
