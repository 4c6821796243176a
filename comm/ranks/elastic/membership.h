// A rank's side of a job whose ranks come and go (coordinator.h): its place in one generation after
// another.

#ifndef DTNN_COMM_RANKS_ELASTIC_MEMBERSHIP_H_
#define DTNN_COMM_RANKS_ELASTIC_MEMBERSHIP_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/elastic/messages.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"
#include "comm/transport/stream.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"
#include "comm/wait.h"

namespace dtnn {

// A generation, as one rank of it sees it.
struct Formation {
  int64_t number = 0;  // from 1
  // This rank was in the generation before, and the state counts that it said it holds.
  bool keeps_state = false;
  bool goes_on = false;  // some rank keeps the state; else the run begins
  Mesh mesh = {};
};

// What a rank says of itself when it joins.
struct RankFacts {
  bool holds_state = false;    // it has the run's last whole step
  bool may_grow = true;        // from there more ranks than before could continue too
  std::vector<int> lost = {};  // ranks of the generation at hand that it misses
};

struct MembershipOptions {
  Endpoint coordinator;
  StreamMaker stream = {};    // nothing: PlainStream
  bool share_memory = false;  // RendezvousOptions, of a generation
};

class Membership {
 public:
  // The patience is that of every wait.
  Membership(const MembershipOptions& options, const JobSecret& secret,
             const CommunicatorOptions& patience);

  // Waits for the next generation and meets its ranks: the first one, or after a loss or a pause,
  // from which on the one at hand is over. Nothing: the run has come to its end without this rank.
  //
  // A newcomer waits as long as the coordinator lives. Errors: FailedPrecondition where the job
  // cannot continue (too few ranks, none with the state); Unavailable, DeadlineExceeded where the
  // coordinator is gone, or ranks cannot reach each other; the others as Meet (rendezvous.h).
  absl::StatusOr<std::optional<Formation>> Form(RankFacts facts);

  // Whether others wait for a place in the next generation. Never waits itself.
  bool newcomers_wait();

  // The run has come to its end; false: it has failed, or was stopped, before it was complete.
  void Finish(bool complete = true);

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status Enter();
  absl::Status Join(const RankFacts& facts);
  // That this rank has a place, or why it gets none.
  absl::StatusOr<ElasticNotice> AwaitPlace();
  absl::StatusOr<ElasticNotice> AskForPlace(const RankFacts& facts);
  absl::StatusOr<Mesh> MeetOthers(const ElasticNotice& place);
  absl::Status Write(std::string_view bytes);
  Wait::Text WaitsFor(std::string_view what) const;
  // The next notice that has come; nothing: none has.
  absl::StatusOr<std::optional<ElasticNotice>> Read();
  // Those that concern the generation at hand, while nobody waits for one.
  void TakeNotices();
  bool Interrupted() const { return patience_.interrupted && patience_.interrupted(); }

  const MembershipOptions options_;
  const JobSecret secret_;
  const CommunicatorOptions patience_;
  std::unique_ptr<Stream> stream_;  // null: none yet, or it broke
  std::string in_;
  int64_t generation_ = 0;
  bool newcomers_ = false, broken_ = false;  // as notices say
  Socket listener_;                          // should this rank become rank 0
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_ELASTIC_MEMBERSHIP_H_
