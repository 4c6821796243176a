// The door of a rank: the processes that connect to its listener, until each has proved to be a
// rank that is awaited, or has been told why it cannot join.
//
// A caller gets a few seconds and one of 128 places. Where all places are taken, make_room.h says
// which caller loses its own: those that call from a single address cannot push out those of
// others, those that call from a hundred can. A turn hears only a few of the callers from which
// something has come: first those whose proof is all that is missing, then those that have not been
// heard for longest, so that no caller waits for those that came after it. Each gets less than 300
// bytes of memory here; with TLS also what a handshake takes, which is at most 200 KiB
// (comm/tls/tls_stream.h).
//
// Rank 0's stays open as long as the job: a process that comes when all ranks are there is refused
// at once.

#ifndef DTNN_COMM_TCP_RECEPTION_H_
#define DTNN_COMM_TCP_RECEPTION_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/crypto/job_secret.h"
#include "comm/exchange/mesh.h"
#include "comm/tcp/greeting.h"
#include "comm/tcp/socket.h"

namespace dtnn {

class Reception : public Door {
 public:
  // Of `rank` among `size`, which awaits those ranks.
  Reception(const JobSecret& secret, int rank, int size, StreamMaker stream, Socket listener,
            std::set<int> awaited);
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // Takes in whoever knows the secret, however often a rank has come; nobody is awaited.
  void AdmitAll() { admits_all_ = true; }

  // Those who have not come yet.
  const std::set<int>& awaited() const { return awaited_; }

  void AddTo(std::vector<pollfd>& descriptors) const override;
  Clock::time_point next() const override;

  absl::Status Turn(std::span<const pollfd> polled) override { return Advance(polled).status(); }

  // The same, with the awaited ranks that have arrived. What it leaves for later poll reports
  // again. An error is of the listener. `now` never goes back.
  absl::StatusOr<std::vector<Greeting>> Advance(std::span<const pollfd> polled,
                                                Clock::time_point now = Clock::now());

  // The last one that was refused, and why; empty: nobody was.
  const std::string& refused() const { return refused_; }

 private:
  struct Stranger {
    Greeting greeting;
    std::string host;        // from which it calls
    uint64_t turn = 0;       // in which it was heard last, or came
    Clock::time_point news;  // when poll last reported something of it, or it came
    // Only what he still sends is read: a connection that is closed with bytes unread may take the
    // reason of the refusal with it.
    bool refused = false;
  };

  bool Expects(int rank) const;
  void Refuse(Stranger& stranger, const absl::Status& why, Clock::time_point now);
  // Whether its connection is to be closed, or has been taken over as that of a rank.
  bool Hear(Stranger& stranger, Clock::time_point now, std::vector<Greeting>& arrived);
  absl::Status AcceptSome(Clock::time_point now);
  void MakeRoom(Clock::time_point now);

  const JobSecret secret_;
  const int rank_, size_;
  const StreamMaker stream_;
  const Socket listener_;
  std::set<int> awaited_;
  bool admits_all_ = false;
  std::list<Stranger> strangers_;  // the oldest first
  uint64_t turn_ = 0;
  std::mt19937_64 random_{std::random_device()()};
  std::string refused_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_RECEPTION_H_
