// The door of a rank: who connects to its listener, until he has proved to be a rank that is
// awaited, or has been told why he cannot join.
//
// Strangers get a few seconds and one of 128 places, and each turn looks only at a few of those
// from whom there is news. Where all places are taken, the oldest of the address that has most
// makes room: whoever calls from a single address cannot push out those of others, who calls from a
// hundred can. Of memory each gets less than 300 bytes here; with TLS also what a handshake takes,
// which is at most 200 KiB (comm/tls/tls_stream.h).
//
// Rank 0's stays open as long as the job: a process that comes when all ranks are there is refused
// at once.

#ifndef DTNN_COMM_TCP_RECEPTION_H_
#define DTNN_COMM_TCP_RECEPTION_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
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
  // again. An error is of the listener.
  absl::StatusOr<std::vector<Greeting>> Advance(std::span<const pollfd> polled);

  // The last one that was refused, and why; empty: nobody was.
  const std::string& refused() const { return refused_; }

 private:
  struct Stranger {
    Greeting greeting;
    std::string host;   // from which he calls
    uint64_t turn = 0;  // in which he was heard last
    // Only what he still sends is read: a connection that is closed with bytes unread may take the
    // reason of the refusal with it.
    bool refused = false;
  };

  bool Expects(int rank) const;
  void Refuse(Stranger& stranger, const absl::Status& why);
  // Whether his connection is to be closed, or has been taken over as that of a rank.
  bool Hear(Stranger& stranger, std::vector<Greeting>& arrived);
  absl::Status AcceptSome();
  void MakeRoom();

  const JobSecret secret_;
  const int rank_, size_;
  const StreamMaker stream_;
  const Socket listener_;
  std::set<int> awaited_;
  bool admits_all_ = false;
  std::list<Stranger> strangers_;  // the oldest first
  uint64_t turn_ = 0;
  std::string refused_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_RECEPTION_H_
