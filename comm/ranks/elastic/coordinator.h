// The members of a job whose ranks come and go: all ranks of a job call the coordinator, and it
// assigns the ranks of the next generation. It lives as long as the job, outside its ranks, so that
// any of them may be lost.
//
// A generation is a group of ranks with connections of their own; nothing changes while it lasts.
// It ends when a rank finds that another is lost, or when all pause because newcomers wait. Each
// rank that is left then joins again. The next generation is formed when all of the old one have
// come or are gone; a silent rank is excluded after a while (WaitForAbsent), and is a newcomer when
// it comes back. Ranks that have the run's state come first, in their order: rank 0 always has it.

#ifndef DTNN_COMM_RANKS_ELASTIC_COORDINATOR_H_
#define DTNN_COMM_RANKS_ELASTIC_COORDINATOR_H_

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/elastic/messages.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/stream_door.h"
#include "comm/transport/polled.h"
#include "comm/transport/stream.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/stream_maker.h"

namespace dtnn {

struct CoordinatorOptions {
  ElasticRange range = {};
  int first = 1;            // the first generation begins with so many
  StreamMaker stream = {};  // nothing: PlainStream
  // Whether somebody starts more ranks: too few then wait for them. Nothing: nobody does.
  std::function<bool()> more_come = {};
  std::function<void(std::string_view line)> say = {};
};

// Belongs to one thread, which polls for it.
class Coordinator : public Polled {
 public:
  // `listener`: a socket that listens.
  Coordinator(const CoordinatorOptions& options, const JobSecret& secret, Socket listener);

  void AddTo(std::vector<pollfd>& descriptors) const override;
  Clock::time_point next() const override { return next_; }
  // An error is of the listener. A lack of files is none: callers wait until there are some.
  absl::Status Turn(std::span<const pollfd> polled) override;

  // How many have been formed.
  int64_t generation() const { return generation_; }
  // How many have left a generation before the run was over, by themselves or as excluded.
  int64_t lost() const { return lost_; }
  // The run has ended, well or not: ranks that join get that answer.
  bool over() const { return over_.has_value(); }
  // How it ended: OK where the run is complete, FailedPrecondition otherwise. Only if over().
  absl::Status outcome() const;
  // How many ranks are there: of the generation at hand, or waiting for a place.
  size_t ranks() const {
    return size_t(std::ranges::count_if(
        peers_, [](const Peer& peer) { return peer.member() || peer.waits(); }));
  }

 private:
  struct Peer {
    std::unique_ptr<Stream> stream;
    std::string address;
    std::string in = {}, out = {};
    std::optional<ElasticWord> word = {};  // of its last join, while it waits
    int rank = -1;                         // in the generation at hand; -1: not in it
    bool told = false;                     // of newcomers, or to wait
    bool member() const { return rank >= 0; }
    bool waits() const { return word.has_value(); }
  };

  void Welcome(std::vector<Caller> arrived);
  // False where the connection is over.
  bool Hear(Peer& peer);
  bool Take(Peer& peer, const ElasticWord& word);
  bool Flush(Peer& peer);
  void Send(Peer& peer, ElasticNotice notice);
  void Remove(std::list<Peer>::iterator peer);
  // What follows from the ranks that are there now.
  void Decide();
  void DecideFirst(const std::vector<Peer*>& waiting);
  void DecideNext(const std::vector<Peer*>& returned, const std::vector<Peer*>& newcomers);
  Clock::time_point WaitForAbsent(const std::vector<Peer*>& returned) const;
  void Invite(const std::vector<Peer*>& newcomers);
  void Form(std::vector<Peer*> ranks, size_t most);
  void End(ElasticNotice::Kind how);
  std::chrono::milliseconds Timeout() const;
  void Say(std::string_view line) const {
    if (options_.say) options_.say(line);
  }

  const CoordinatorOptions options_;
  StreamDoor door_;
  std::list<Peer> peers_;
  int64_t generation_ = 0;
  int64_t lost_ = 0;
  size_t size_ = 0;     // of the generation at hand
  bool begun_ = false;  // ranks have continued with a state: the run needs it from then on
  std::optional<ElasticNotice::Kind> over_;
  bool stopped_ = false;  // kEnded, but before the run was complete
  // Since when ranks wait for the first generation: a scheduler may start them late.
  std::optional<Clock::time_point> first_wait_;
  // Times at which ranks have joined again since the generation began.
  std::optional<Clock::time_point> first_return_, last_return_;
  Clock::time_point alive_at_{};
  Clock::time_point accept_at_{};  // the listener is asked again; zero where files are not short
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_ELASTIC_COORDINATOR_H_
