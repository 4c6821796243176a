// This process as a rank of a job whose ranks come and go: its place in one generation of ranks
// after another (comm/ranks/elastic).

#ifndef DTNN_COMM_RANKS_JOB_ELASTIC_RANK_H_
#define DTNN_COMM_RANKS_JOB_ELASTIC_RANK_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/elastic/membership.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/transport/mesh.h"

namespace dtnn {

class ElasticRank {
 public:
  // Calls nobody yet. Usage errors for what the environment says wrong.
  static absl::StatusOr<std::unique_ptr<ElasticRank>> Create(const JobEnvironment& job,
                                                             const CommunicatorOptions& options);

  const ElasticRange& range() const { return range_; }

  // Waits for the next generation, when the one at hand is over for this rank (membership.h).
  // False: the run has come to its end without it.
  absl::StatusOr<bool> Join(const RankFacts& facts);

  // The same for a rank that has not begun with the generation at hand, and can say nothing new.
  absl::StatusOr<bool> JoinAgain() {
    return Join({.holds_state = keeps_state(), .may_grow = may_grow_});
  }

  // The number of the generation that was joined last.
  int64_t generation() const { return formation_.number; }
  bool keeps_state() const { return formation_.keeps_state; }
  bool goes_on() const { return formation_.goes_on; }
  // Its connections, once; nothing: it is the one at hand still.
  std::optional<Mesh> TakeMesh();
  bool has_next() const { return fresh_; }

  bool newcomers_wait() { return membership_.newcomers_wait(); }
  // The run has come to its end; false: it has failed, or was stopped, before it was complete.
  void Finish(bool complete = true) { membership_.Finish(complete); }

 private:
  ElasticRank(const ElasticRange& range, const MembershipOptions& where, const JobSecret& secret,
              const CommunicatorOptions& options)
      : range_(range), membership_(where, secret, options) {}

  const ElasticRange range_;
  Membership membership_;
  Formation formation_;
  bool fresh_ = false, may_grow_ = true;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_ELASTIC_RANK_H_
