// Small messages between the ranks of a job, beside MPI.
//
// They go as datagrams over a socket of their own, which a thread of their own reads: a rank whose
// MPI hangs, or is busy, still asks, answers, and learns who is lost, on other hosts too. Datagrams
// may be lost or come twice: questions are asked again by those who ask; what says that a group
// broke or that a rank leaves is repeated until it is heard, or for two seconds. A datagram counts
// only with the job's token in front, which no other process knows.

#ifndef DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_CHANNEL_H_
#define DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_CHANNEL_H_

#include <netinet/in.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/ranks/group/control_message.h"
#include "comm/ranks/mpi/control/control_socket.h"

namespace dtnn {

class ControlChannel {
 public:
  using Clock = std::chrono::steady_clock;
  using Token = std::array<uint64_t, 2>;
  // On the channel's thread, from Start on; may send.
  using Handler = std::function<void(int from, const ControlMessage&)>;

  static Token NewToken();

  ControlChannel(ControlSocket socket, int rank, std::vector<ControlAddress> ranks,
                 const Token& token, Handler handler);
  // Until then what comes waits in the socket.
  void Start();
  // What has not been heard is lost: Flush first.
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // By any thread; never blocks.
  void Send(int to, ControlMessage message);
  // The ranks that have not answered a hello by `end`, in order.
  std::vector<int> Greet(Clock::time_point end);
  // Returns when all that had to be heard has been, at the latest at `end`.
  void Flush(Clock::time_point end);

 private:
  struct Peer {
    std::vector<sockaddr_in> addresses;  // one of which it has
    std::optional<sockaddr_in> from;     // where its last datagram came from
  };
  struct Unheard {
    ControlMessage::Kind kind;
    int to;
    uint32_t number;
    std::string bytes;
    Clock::time_point next, end;
    std::chrono::milliseconds pause;
  };

  void Run();
  // Milliseconds until it is to be called again; -1: nothing is waited for.
  int Repeat(Clock::time_point now);
  bool ReceiveOne();
  void Write(int to, const std::string& bytes);
  // Until it is heard, or `end`.
  void SendUntil(Clock::time_point end, int to, ControlMessage message);
  std::string Frame(int to, const ControlMessage& message) const;

  const ControlSocket socket_;
  const int rank_;
  const Token token_;
  const Handler handler_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Peer> peers_;
  std::list<Unheard> unheard_;
  uint32_t last_number_ = 0;
  bool stop_ = false;
  std::string buffer_;  // of the thread
  std::thread thread_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_MPI_CONTROL_CONTROL_CHANNEL_H_
