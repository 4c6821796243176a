#include "comm/http/deadlines.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace dtnn {
namespace {

using std::chrono::milliseconds;

constexpr auto kNever = std::chrono::steady_clock::time_point::max();

// Whether the other end has ended its side, and all that it sent has been read.
bool HasEnded(int socket) {
  pollfd end = {.fd = socket, .events = POLLRDHUP, .revents = 0};
  int unread = 0;
  return poll(&end, 1, 0) == 1 && ioctl(socket, FIONREAD, &unread) == 0 && unread == 0;
}

}  // namespace

Deadlines::Deadlines(milliseconds patience) : patience_(patience), watcher_([this] { Watch(); }) {}

Deadlines::~Deadlines() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

Deadlines::Connection* Deadlines::Add(int socket) {
  const std::lock_guard lock(mutex_);
  Connection* const connection = &connections_.emplace_back(socket);
  Enter(connection, State::kNextRequest);
  changed_.notify_all();
  return connection;
}

void Deadlines::Remove(Connection* connection) {
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const Connection& each) { return &each == connection; });
  changed_.notify_all();
}

void Deadlines::Enter(Connection* connection, State state) {
  const auto deadline = state == State::kOwnAnswer ? kNever : Clock::now() + patience_;
  connection->deadline_ = deadline.time_since_epoch().count();
  connection->state_ = state;
}

void Deadlines::EndIdle() {
  const std::lock_guard lock(mutex_);
  end_idle_ = true;
  changed_.notify_all();
}

void Deadlines::EndAll() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    if (connection.state_ != State::kOwnAnswer) shutdown(connection.socket_, SHUT_RDWR);
  }
}

bool Deadlines::AwaitNone(Clock::time_point end) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, end, [this] { return connections_.empty(); });
}

// Looks often enough that a connection lasts at most an eighth longer.
void Deadlines::Watch() {
  const auto round = std::clamp(patience_ / 8, milliseconds(5), milliseconds(250));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !connections_.empty(); });
    if (ending_) return;
    const Clock::time_point now = Clock::now();
    for (Connection& connection : connections_) {
      const State state = connection.state_;
      if (state == State::kOwnAnswer) continue;
      const auto left = Clock::time_point(Clock::duration(connection.deadline_)) - now;
      // An end that comes with the last bytes is not an event of its own for epoll. What has been
      // read of a connection is handled in less time than a round.
      const bool ended =
          state != State::kReader && patience_ - left > round && HasEnded(connection.socket_);
      if (left < Clock::duration::zero() || ended) {
        shutdown(connection.socket_, SHUT_RDWR);
      } else if (end_idle_ && state == State::kNextRequest) {
        shutdown(connection.socket_, SHUT_RD);
      }
    }
    const auto next = end_idle_ ? milliseconds(5) : round;
    const bool idle_ended = end_idle_;
    changed_.wait_for(lock, next, [&] { return ending_ || end_idle_ != idle_ended; });
  }
}

}  // namespace dtnn
