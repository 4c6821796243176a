#include "comm/transport/meeting/stream_door.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <tuple>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// New connections, and callers that are heard, before the thread does something else.
constexpr size_t kMostPerTurn = 8;
// How long one that was refused gets to read why.
constexpr std::chrono::seconds kRefusedTime(2);

// Whether the other side has closed its end. Not by the stream: TLS may have failed.
bool Discard(const Stream& stream) {
  std::array<std::byte, 4096> ignored;
  ssize_t n = 1;
  for (int turn = 0; n > 0 && turn < 16; ++turn) {
    n = recv(stream.descriptor(), ignored.data(), ignored.size(), 0);
  }
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

StreamDoor::StreamDoor(const JobSecret& secret, std::string purpose,
                       std::unique_ptr<Listener> listener, Admit admit, uint64_t seed)
    : secret_(secret),
      purpose_(std::move(purpose)),
      listener_(std::move(listener)),
      admit_(std::move(admit)),
      room_(seed) {}

void StreamDoor::AddTo(std::vector<pollfd>& descriptors) const {
  descriptors.push_back({listener_->descriptor(), POLLIN, 0});
  for (const Place& place : room_.places()) {
    const Greeting& greeting = place.caller.greeting;
    descriptors.push_back({greeting.stream->descriptor(),
                           place.caller.refused ? short(POLLIN) : greeting.events(), 0});
  }
}

void StreamDoor::Refuse(Place& place, const absl::Status& why, Clock::time_point now) {
  Pending& pending = place.caller;
  refused_ = StrCat(pending.address, pending.greeting.broken ? ": " : ", which ", why.message());
  pending.refused = true;
  place.end = now + kRefusedTime;
  shutdown(pending.greeting.stream->descriptor(), SHUT_WR);
}

absl::Status StreamDoor::Judge(std::string_view card) const {
  if (!admit_) return absl::OkStatus();
  std::vector<std::string> others;
  for (const Caller& caller : arrived_) others.push_back(caller.card);
  for (const Place& place : room_.places()) {
    const Handshake& handshake = place.caller.greeting.handshake;
    if (handshake.done() && !place.caller.refused) others.push_back(handshake.card());
  }
  return admit_(card, others);
}

bool StreamDoor::Hear(Place& place, Clock::time_point now) {
  Pending& pending = place.caller;
  Greeting& greeting = pending.greeting;
  const bool over = now >= place.end;
  pending.turn = turn_;
  if (!pending.refused) {
    absl::Status status = greeting.Advance();
    if (status.ok() && greeting.done()) {
      arrived_.push_back({.stream = std::move(greeting.stream),
                          .address = std::move(pending.address),
                          .card = greeting.handshake.card()});
      return true;
    }
    if (status.ok() && over) status = Unavailable("said too little");
    if (!status.ok()) Refuse(place, status, now);
  }
  return over || (pending.refused && Discard(*greeting.stream));
}

absl::StatusOr<std::vector<Caller>> StreamDoor::Advance(std::span<const pollfd> polled,
                                                        Clock::time_point now) {
  std::vector<std::list<Place>::iterator> due;
  size_t at = 1;
  for (auto place = room_.places().begin(); place != room_.places().end(); ++place, ++at) {
    if (polled[at].revents != 0) place->heard = now;
    if (polled[at].revents != 0 || now >= place->end) due.push_back(place);
  }
  std::ranges::stable_sort(due, {}, [](const auto& place) {
    return std::tuple(!place->caller.greeting.handshake.challenged(), place->caller.turn);
  });
  due.resize(std::min(due.size(), kMostPerTurn));
  ++turn_;
  for (const auto& place : due) {
    if (Hear(*place, now)) room_.places().erase(place);
  }
  if (polled[0].revents != 0) DTNN_RETURN_IF_ERROR(AcceptSome(now));
  return std::exchange(arrived_, {});
}

absl::Status StreamDoor::AcceptSome(Clock::time_point now) {
  for (size_t i = 0; i < kMostPerTurn; ++i) {
    DTNN_ASSIGN_OR_RETURN(std::optional<Arrival> arrival, listener_->Accept());
    if (!arrival) break;
    room_.Enter({.greeting = {.stream = std::move(arrival->stream),
                              .handshake = Handshake::Answering(
                                  secret_, purpose_,
                                  [this](std::string_view card) { return Judge(card); })},
                 .address = std::move(arrival->address),
                 .turn = turn_},
                std::move(arrival->host), now);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
