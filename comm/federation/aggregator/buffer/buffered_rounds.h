// The rounds of an aggregator that does not wait: clients are asked one by one as they become free,
// each trains from the parameters that were current then, and after so many updates
// (update_buffer.h), from any clients, the parameters move: that is a round.
//
// At a time as many clients train as a round that waits would ask. A client is asked once for the
// same parameters, from which it would make the same update again. One that is slow, dies, or whose
// update is too stale leaves its turn to another one; nobody waits for it. What is held: the
// parameters, as they are and as they are sent, the sum, and the updates on their way
// (../attempt/receive_places.h), however many clients there are; and older parameters for clients
// that are receiving them, whose turn is not over: `max_staleness` + 1 of them at most.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_BUFFERED_ROUNDS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_BUFFERED_ROUNDS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/aggregator_options.h"
#include "comm/federation/aggregator/buffer/ask.h"
#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/aggregator/choice/choice.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/lost_clients.h"
#include "comm/federation/aggregator/roster/roster.h"
#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn::federation {

class BufferedRounds {
 public:
  using Clock = Roster::Clock;

  // All outlive them.
  BufferedRounds(const AggregatorOptions& options, const JobSecret& secret, Protector protector,
                 FederationState& state);

  absl::Status Open();
  absl::Status Run();

 private:
  absl::Status RunRound();
  // Until one is asked, or has answered.
  absl::Status AwaitClients();
  // Asks as many as there are turns for.
  absl::Status AskClients();
  absl::Status AskOne(int id);
  // Clients that are there, also busy ones.
  size_t CountThere();
  std::vector<Candidate> Candidates();
  // Why nobody can be asked.
  std::string Trouble();
  Clock::time_point next() const;
  // What time brings, then what has come.
  void Settle();
  // Adds complete updates, in the order in which they were complete, while there is room.
  void TakeUpdates();
  void Use(Ask& ask);
  // Ends those that are accepted or left out.
  void EndSettled();
  void End(Ask& ask);
  // The verdict; nothing more of it counts, and nothing more is sent for it.
  void Close(Ask& ask);
  void DropStale();
  // Clients that the list no longer has, or with another key. What is in a sum cannot be taken out
  // of it: it begins anew.
  void Revoke();
  // The parameters move; updates that are too stale then are not waited for.
  absl::Status Move();
  absl::Status Report(const RoundRecord& record);

  const AggregatorOptions& options_;
  const JobSecret& secret_;
  const Protector protector_;
  FederationState& state_;
  RunNonce nonce_{};
  std::optional<Secret> choice_seed_;
  Roster roster_;
  LostClients lost_;  // in this round
  std::optional<codec::UpdateServer> codec_;
  ReceivePlaces places_;
  UpdateBuffer buffer_;
  std::optional<AskParts> parts_;
  std::vector<std::shared_ptr<Ask>> running_;
  std::vector<SharedBytes> bodies_;  // of the current parameters; empty: not made yet
  std::vector<Asked> ended_;         // in this round
  // Whose updates are in the buffer, and by which key each has proved its name.
  std::map<std::string, std::optional<Ed25519PublicKey>> used_;
  // Clients that have given an update of the current parameters.
  std::set<std::string> trained_;
  int64_t too_stale_ = 0, left_out_ = 0;  // in this round
  size_t turns_ = 0;                      // clients that may train at a time
  int changes_ = 0;                       // of the list, that were followed
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_BUFFERED_ROUNDS_H_
