#include "comm/http/deadlines.h"

#include <sys/socket.h>

#include <algorithm>

namespace dtnn {
namespace {

constexpr auto kNever = std::chrono::steady_clock::time_point::max();

}  // namespace

Deadlines::Deadlines(std::chrono::milliseconds patience)
    : patience_(patience), watcher_([this] { Watch(); }) {}

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
  const auto round =
      std::clamp(patience_ / 8, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !connections_.empty(); });
    if (ending_) return;
    const Clock::rep now = Clock::now().time_since_epoch().count();
    for (Connection& connection : connections_) {
      if (connection.deadline_ < now) {
        shutdown(connection.socket_, SHUT_RDWR);
      } else if (end_idle_ && connection.state_ == State::kNextRequest) {
        shutdown(connection.socket_, SHUT_RD);
      }
    }
    const auto next = end_idle_ ? std::chrono::milliseconds(5) : round;
    const bool idle_ended = end_idle_;
    changed_.wait_for(lock, next, [&] { return ending_ || end_idle_ != idle_ended; });
  }
}

}  // namespace dtnn
