// The rounds of an aggregator: clients that are asked, attempts at a round, and what becomes of the
// sum.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROUNDS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROUNDS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/aggregator_options.h"
#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/aggregator/attempt_privacy.h"
#include "comm/federation/aggregator/choice/choice.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/lost_clients.h"
#include "comm/federation/aggregator/parent/parent_link.h"
#include "comm/federation/aggregator/roster/roster.h"
#include "comm/federation/aggregator/round_record.h"
#include "comm/federation/aggregator/sums/sum_thread.h"
#include "comm/federation/client/round_task.h"
#include "comm/model_sync.h"

namespace dtnn::federation {

class Rounds {
 public:
  using Clock = std::chrono::steady_clock;

  Rounds(const AggregatorOptions& options, const JobSecret& secret, Protector protector,
         FederationState& state)
      : options_(options),
        secret_(secret),
        protector_(std::move(protector)),
        state_(state),
        roster_(options_, protector_, state_, nonce_) {}

  absl::Status Open();
  absl::Status Run();

 private:
  // Those that can be asked in this round.
  std::vector<Candidate> Candidates();
  // Whether some have not answered an attempt that is over, and could be asked when they have.
  bool SomeAreBusy();
  absl::Status RunRound();
  // Each of the parent's rounds in which it is asked, until the parent's end.
  absl::Status RunForParent();
  absl::Status FollowParent(ParentLink& parent);
  absl::Status Answer(const RoundTask& task, ParentLink& parent);
  // So long at most; less where the parent waits for this round no longer.
  std::chrono::milliseconds AtMost(std::chrono::milliseconds time) const;
  // For its updates; with a parent so that all steps of it end in time.
  std::chrono::milliseconds DeadlineOfAttempt() const;
  bool TooLate() const;
  // Until enough clients are there.
  absl::StatusOr<std::vector<int>> AwaitClients();
  absl::StatusOr<std::shared_ptr<Attempt>> BeginAttempt(const std::vector<int>& chosen);
  absl::StatusOr<std::shared_ptr<Attempt>> RunAttempt(const std::vector<int>& chosen);
  // Until it is over; Cancelled where the aggregator is interrupted.
  absl::Status AwaitEnd(Attempt& attempt);
  // Clients of the attempt that the list no longer has, or with another key.
  void RevokeAsked(Attempt& attempt) const;
  // What an attempt that asks so many can tell of one of them, before it does.
  absl::Status Charge(int asked);
  AttemptClients ClientsOf(int asked) const {
    return {.quorum = options_.min_clients, .asked = asked, .sampling = sampling_};
  }
  void Account(const Attempt& attempt);
  void TellVerdicts(const Attempt& attempt, bool good);
  absl::Status TakeSum(const Attempt& attempt);
  RoundRecord RecordOf(const Attempt& attempt, Clock::time_point begin) const;

  const AggregatorOptions& options_;
  const JobSecret& secret_;
  const Protector protector_;
  FederationState& state_;
  RunNonce nonce_{};
  std::optional<Secret> choice_seed_;
  Roster roster_;
  LostClients lost_;  // in this round
  KeyName round_key_{};
  std::vector<std::optional<Ed25519PublicKey>> asked_keys_;  // of the attempt's clients
  double clip_ = 0;                                          // of the attempt, where it adapts
  double sampling_ = 1;    // of those who were there, the share that was asked
  PrivacyLedger settled_;  // of the attempts that are over
  uint64_t attempts_before_ = 0;
  // What clients learn of a round.
  struct Terms {
    RankWeighting weighting = RankWeighting::kEqual;
    double proximal = 0;
    int64_t rounds = 0;
    bool control = false;
    std::optional<Clock::time_point> end = {};  // it fails then: the parent's
    std::chrono::milliseconds least{};          // no attempt begins with less time left
  } terms_;
  int64_t all_samples_ = 1;  // of all clients, the most that were there when an attempt began
  RoundRecord last_;         // of the round that was done last
  SumThread sum_thread_{[this] { roster_.Wake(); }};
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROUNDS_H_
