// The clients that are there: the connections of an aggregator, the clients at their other ends,
// and what comes from them. It knows which attempt each client has to do with, and gives it that
// client's frames; rounds are the aggregator's.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_ROSTER_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_ROSTER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/descriptors/wakeup.h"
#include "comm/federation/aggregator/aggregator_options.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/inquiry.h"
#include "comm/federation/aggregator/roster/refusal_log.h"
#include "comm/federation/channel.h"
#include "comm/federation/identity/allowed_clients.h"
#include "comm/federation/identity/identity_check.h"
#include "comm/federation/labels.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/door.h"
#include "tensor/errors.h"

namespace dtnn::federation {

struct Member {
  using Clock = std::chrono::steady_clock;

  Member(std::unique_ptr<Stream> stream, std::string address)
      : channel(std::move(stream), std::move(address)) {}

  Channel channel;
  Clock::time_point since = Clock::now();
  std::string name;  // empty before its hello
  IdentityCheck identity;
  std::optional<Ed25519PublicKey> identity_key = {};  // by which it has proved that name
  int64_t samples = 0, steps = 1;
  int64_t clients = 0;                     // of an aggregator
  std::vector<RunNonce> aggregators = {};  // of an aggregator: those behind it
  Labels labels = {};
  KeyName key{};
  Hash class_names{};                // of its data; zeros: not known
  std::shared_ptr<Inquiry> attempt;  // that it was asked in and has not answered
  // The last one that it has answered: what still comes for it is none of the other's.
  std::shared_ptr<Inquiry> past;
  int position = 0, past_position = 0;
  bool there = false;             // as a client, of whom observers know
  bool ending = false;            // when all is sent
  Clock::time_point size_said{};  // when a line said how many clients it has
  bool more = false;              // there may be frames that poll does not know of

  void Answered() {
    past = std::move(attempt);
    past_position = position;
    attempt.reset();
  }
};

class Roster {
 public:
  using Clock = std::chrono::steady_clock;

  // All outlive it; `nonce` is sent to each client that comes, `state` says which key they need.
  Roster(const AggregatorOptions& options, const Protector& protector, const FederationState& state,
         const RunNonce& nonce)
      : options_(options), protector_(protector), state_(state), nonce_(nonce) {}

  absl::Status Open(const JobSecret& secret);
  // Sleeps until something happens, at most until then, and deals with all of it.
  absl::Status Turn(Clock::time_point until);
  // From any thread: something has happened.
  void Wake() const { wakeup_.Wake(); }

  // By numbers that are never used again. Those without a name are not clients yet, or no longer.
  std::map<int, Member>& members() { return members_; }
  // Reads the list of clients that may take part again, and sends those away that are no longer on
  // it, or not with their key. Turn does so once a second.
  void FollowAllowed();
  // The same, until what the file has counts (AllowedClients::settles).
  absl::Status SettleAllowed();
  bool allowed_settles() const { return allowed_ && allowed_->settles(); }
  // Incremented when the list changes.
  int allowed_changes() const { return allowed_changes_; }
  // Whether the client that has proved its name by this key may take part; where there is no list,
  // all may.
  bool Allows(const std::string& name, const std::optional<Ed25519PublicKey>& key) const;
  // Clients that can be asked, in any order.
  std::vector<int> Idle() const;
  // Whether rounds may ask it.
  bool Fulfils(const Member& member) const {
    return options_.select.Fulfils({.name = member.name,
                                    .samples = member.samples,
                                    .steps = member.steps,
                                    .labels = member.labels});
  }
  // Clients that rounds may not ask.
  size_t CountUnfit() const;
  // All clients that can be asked, and those behind them.
  GroupSize Size() const;
  // HashOfNames of the classes of a client's data; zeros where no client knows them.
  Hash NamesOfClasses() const;
  // The key that clients need now.
  KeyName Key() const;
  // From now on this one alone will do.
  void RefuseOtherKeys();
  // From now on nothing is sent to clients but what callers send: a client that has been sent its
  // last message needs no more.
  void EndSignsOfLife() { signs_of_life_ = false; }
  // Sent and received, by all there have been.
  std::pair<uint64_t, uint64_t> bytes() const;

 private:
  absl::Status Welcome(std::vector<Caller> arrived);
  // Whether a frame has come.
  bool Hear(int id);
  // A member, and whether there may be something of it that poll does not know of.
  struct Connection {
    int id = 0;
    bool may_have_frames = false;
  };
  void HearAll(std::span<const Connection> connections, std::span<const pollfd> polled);
  absl::StatusOr<bool> TakeFrames(int id, Member& member);
  absl::Status TakeHello(int id, Member& member, const Frame& frame);
  absl::Status TakeIntroduction(Member& member, const Frame& frame);
  // Whether it has not proved that it is the client of that name, on the list; then it is refused.
  bool RefuseUnproved(Member& member, const std::string& name);
  // Where there is a list, those who have not proved a name have places of their own: they must not
  // keep out the others. After a newcomer has come, the one that loses its place is removed, by the
  // rule of comm/transport/meeting/waiting_room.h.
  void MakePlace();
  void Answer(Member& member);
  // Whether this aggregator is one of those.
  bool IsAmong(std::span<const RunNonce> aggregators) const;
  void RefuseRing(Member& member);
  // FailedPrecondition where an aggregator cannot be a client of this federation.
  absl::Status CheckTakesGroup(const Hello& hello) const;
  // The end whose classes have other names than those of this client, for a message; empty: none.
  absl::StatusOr<std::string> FindOtherNames(const Hello& hello) const;
  void Remove(int id, const std::string& why);
  void Refuse(Member& member, const std::string& why);
  void LogRefusal(RefusalLog& log, const std::string& refusal);
  void End(Member& member, const std::string& why, RefusalReason reason = kFinal);
  void ObserveGone(Member& member) const;

  const AggregatorOptions& options_;
  const Protector& protector_;
  const FederationState& state_;
  const RunNonce& nonce_;
  const Wakeup wakeup_;
  std::unique_ptr<Door> door_;
  int64_t most_connections_ = 0;  // without those that are refused
  bool look_again_ = false;       // what has come may let clients continue that wait
  std::map<int, Member> members_;
  int next_id_ = 0;
  bool signs_of_life_ = true;
  Clock::time_point alive_at_{};
  uint64_t sent_ = 0, received_ = 0;       // of connections that have ended
  std::optional<AllowedClients> allowed_;  // nothing: all that know the secret
  int allowed_changes_ = 0;
  Clock::time_point follow_at_{};
  std::mt19937_64 random_{std::random_device()()};
  std::string refused_;  // by the door, the last one
  // Of clients that have proved their names, which other callers must not silence; of all others.
  RefusalLog proved_refusals_, refusals_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_ROSTER_H_
