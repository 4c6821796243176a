// Many clients of one aggregator in one process: each has a connection of its own and follows the
// protocol with the frames, codecs and secrets of real ones (client/client_round.h), but makes its
// updates up. For measurements and tests of rounds that ask hundreds. What they compute is divided
// among all threads (tensor/threads/parallel_for.h), a client at a time.
//
// A client holds no parameters, and one chunk of its update at a time: a few kilobytes each. All
// send the same numbers, with as many samples, so the mean of plain ones is these numbers, to the
// last bit.

#ifndef DTNN_COMM_FEDERATION_TESTING_SWARM_H_
#define DTNN_COMM_FEDERATION_TESTING_SWARM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/channel.h"
#include "comm/federation/client/client_options.h"
#include "comm/federation/client/client_round.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn::federation {

class Swarm {
 public:
  // `client`: of all but their names, which follow from `client.name` and a number. The secret
  // outlives the swarm.
  Swarm(const ClientOptions& client, const JobSecret& secret);

  // The first so many that were added send no update in any round.
  void DropOut(int clients) { drop_outs_ = clients; }
  // So many send their updates at a time, others after them. Where all take turns, the chunks of an
  // update are as far apart as it takes to mask a chunk of every client, and the aggregator drops
  // one that seems to have stopped.
  void SendAtATime(int clients) { most_senders_ = clients; }

  // The numbers that every client sends.
  const std::vector<float>& numbers() const { return numbers_; }

  // So many more clients, which are welcome when this returns.
  absl::Status Add(int clients);
  // Until the federation is over for all, or, where there is one, until `done`. An error where a
  // client is refused or loses its connection.
  absl::Status Run(const std::function<bool()>& done = nullptr);

  int64_t updates() const { return Sum(&Client::updates); }  // that were sent
  int64_t accepted() const { return Sum(&Client::accepted); }
  // By all clients for which the federation is over.
  uint64_t bytes_sent() const { return Sum(&Client::bytes_sent); }
  uint64_t bytes_received() const { return Sum(&Client::bytes_received); }

 private:
  struct Client {
    ClientOptions options;
    std::unique_ptr<Channel> channel;
    Welcome welcome = {};
    bool drops_out = false;
    bool welcomed = false, over = false;
    std::optional<ClientRound> round;
    std::optional<uint32_t> chunk = {};  // of its update, that it sends next
    bool sends = false;
    bool answered = false;
    int64_t updates = 0, accepted = 0;
    uint64_t bytes_sent = 0, bytes_received = 0;
  };

  absl::Status Turn(std::chrono::milliseconds most);
  // On all threads. The first error.
  static absl::Status ForEach(const std::vector<Client*>& clients,
                              const std::function<absl::Status(Client&)>& body);
  // Those that can send something of their updates now.
  std::vector<Client*> Senders();
  absl::Status Hear(Client& client) const;
  absl::Status Take(Client& client, Frame frame) const;
  absl::Status SendChunks(Client& client) const;
  template <typename Number>
  Number Sum(Number Client::*of) const {
    Number sum = 0;
    for (const Client& client : clients_) sum += client.*of;
    return sum;
  }

  const ClientOptions options_;
  const JobSecret& secret_;
  const Protector protector_;
  std::vector<float> numbers_;  // and zeros for metrics that a sum hides
  std::list<Client> clients_;   // whose rounds refer to them
  int drop_outs_ = 0;
  int most_senders_ = std::numeric_limits<int>::max();
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_SWARM_H_
