#include "comm/tcp/reception.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "comm/make_room.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Connections that have not proved anything yet, and how long each may take for it.
constexpr size_t kMostStrangers = 128;
constexpr std::chrono::seconds kStrangersTime(10);
// New connections, and strangers that are heard, before the ranks have their turn again.
constexpr size_t kMostPerTurn = 8;
// How long one that was refused gets to read why.
constexpr std::chrono::seconds kRefusedTime(2);

// Whether the other side has closed its end.
bool Discard(const Stream& stream) {
  std::array<std::byte, 4096> ignored;
  ssize_t n = 1;
  for (int turn = 0; n > 0 && turn < 16; ++turn) {
    n = recv(stream.descriptor(), ignored.data(), ignored.size(), 0);
  }
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Reception::Reception(const JobSecret& secret, int rank, int size, StreamMaker stream,
                     Socket listener, std::set<int> awaited)
    : secret_(secret),
      rank_(rank),
      size_(size),
      stream_(std::move(stream)),
      listener_(std::move(listener)),
      awaited_(std::move(awaited)) {}

void Reception::AddTo(std::vector<pollfd>& descriptors) const {
  descriptors.push_back({listener_.descriptor(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) {
    const Greeting& greeting = stranger.greeting;
    descriptors.push_back(
        {greeting.stream->descriptor(), stranger.refused ? short(POLLIN) : greeting.events(), 0});
  }
}

Reception::Clock::time_point Reception::next() const {
  Clock::time_point next = Clock::time_point::max();
  for (const Stranger& stranger : strangers_) next = std::min(next, stranger.greeting.end);
  return next;
}

bool Reception::Expects(int rank) const {
  if (admits_all_) return true;
  return awaited_.contains(rank) && std::ranges::none_of(strangers_, [rank](const Stranger& other) {
           const Handshake& handshake = other.greeting.handshake;
           return handshake.done() && handshake.peer() == rank;
         });
}

void Reception::Refuse(Stranger& stranger, const absl::Status& why, Clock::time_point now) {
  refused_ = StrCat(stranger.greeting.address, stranger.greeting.broken ? ": " : ", which ",
                    why.message());
  stranger.refused = true;
  stranger.greeting.end = now + kRefusedTime;
  shutdown(stranger.greeting.stream->descriptor(), SHUT_WR);
}

bool Reception::Hear(Stranger& stranger, Clock::time_point now, std::vector<Greeting>& arrived) {
  Greeting& greeting = stranger.greeting;
  const bool over = now >= greeting.end;
  stranger.turn = turn_;
  if (!stranger.refused) {
    absl::Status status = greeting.Advance();
    if (status.ok() && greeting.done()) {
      awaited_.erase(greeting.handshake.peer());
      arrived.push_back(std::move(greeting));
      return true;
    }
    if (status.ok() && over) status = Unavailable("said too little");
    if (!status.ok()) Refuse(stranger, status, now);
  }
  return over || (stranger.refused && Discard(*greeting.stream));
}

absl::StatusOr<std::vector<Greeting>> Reception::Advance(std::span<const pollfd> polled,
                                                         Clock::time_point now) {
  using Place = std::list<Stranger>::iterator;
  std::vector<Place> due;
  size_t at = 1;
  for (Place stranger = strangers_.begin(); stranger != strangers_.end(); ++stranger, ++at) {
    if (polled[at].revents != 0) stranger->news = now;
    if (polled[at].revents != 0 || now >= stranger->greeting.end) due.push_back(stranger);
  }
  std::ranges::stable_sort(due, {}, [](Place stranger) {
    return std::tuple(!stranger->greeting.handshake.challenged(), stranger->turn);
  });
  due.resize(std::min(due.size(), kMostPerTurn));
  ++turn_;
  std::vector<Greeting> arrived;
  for (const Place stranger : due) {
    if (Hear(*stranger, now, arrived)) strangers_.erase(stranger);
  }
  if (polled[0].revents != 0) DTNN_RETURN_IF_ERROR(AcceptSome(now));
  return arrived;
}

void Reception::MakeRoom(Clock::time_point now) {
  std::vector<WaitingCaller> callers;
  for (const Stranger& stranger : strangers_) callers.push_back({stranger.host, stranger.news});
  const size_t drop = CallerToDrop(callers, now, random_());
  strangers_.erase(std::next(strangers_.begin(), ptrdiff_t(drop)));
}

absl::Status Reception::AcceptSome(Clock::time_point now) {
  for (size_t i = 0; i < kMostPerTurn; ++i) {
    DTNN_ASSIGN_OR_RETURN(std::optional<Socket> socket, Accept(listener_));
    if (!socket) break;
    const absl::StatusOr<Endpoint> from = socket->Peer();
    absl::StatusOr<std::unique_ptr<Stream>> stream = MakeStream(stream_, *std::move(socket), "");
    if (!from.ok() || !stream.ok()) continue;
    Greeting greeting = {.stream = *std::move(stream),
                         .address = from->ToString(),
                         .handshake = Handshake::Accepting(
                             secret_, rank_, size_, [this](int rank) { return Expects(rank); }),
                         .end = now + kStrangersTime};
    strangers_.push_back(
        {.greeting = std::move(greeting), .host = from->host, .turn = turn_, .news = now});
    if (strangers_.size() > kMostStrangers) MakeRoom(now);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
