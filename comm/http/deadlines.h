// Connections, and when each is closed unless its other end does something: one that sends or reads
// a byte now and then keeps a connection no longer than one that does nothing. One that has ended
// its side, and waits for no answer, is closed soon.
//
// Connections are shut down, not closed: what reads and writes them sees their end, and closes
// them.

#ifndef DTNN_COMM_HTTP_DEADLINES_H_
#define DTNN_COMM_HTTP_DEADLINES_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace dtnn {

class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  // What a connection waits for.
  enum class State : uint8_t { kNextRequest, kBody, kOwnAnswer, kReader };

  class Connection {
   public:
    explicit Connection(int socket) : socket_(socket) {}
    State state() const { return state_; }

   private:
    friend class Deadlines;
    const int socket_;
    std::atomic<State> state_ = State::kNextRequest;
    std::atomic<Clock::rep> deadline_ = 0;
  };

  // `patience`: how long each state may last, but for kOwnAnswer, which has no end.
  explicit Deadlines(std::chrono::milliseconds patience);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  Connection* Add(int socket);
  // Before the socket is closed.
  void Remove(Connection* connection);
  void Enter(Connection* connection, State state);

  // From now on a connection that waits for its next request is ended; what it has sent already is
  // read before.
  void EndIdle();
  // Ends all but those that wait for their own answer.
  void EndAll();
  // Returns when there are none left, true, or at that time.
  bool AwaitNone(Clock::time_point end);

 private:
  void Watch();

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> connections_;
  bool end_idle_ = false, ending_ = false;
  std::thread watcher_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_DEADLINES_H_
