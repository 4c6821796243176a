#include "comm/federation/meeting.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "comm/federation/agreed.h"
#include "comm/relay/relay_door.h"
#include "comm/tcp/reception.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestSleep(100);
// How long one attempt to reach a carrier that is gone may keep the aggregator from deadlines, and
// how often there is one.
constexpr milliseconds kReopening(300), kReopenEvery(1000);

bool Interrupted(const std::function<bool()>& interrupted) { return interrupted && interrupted(); }

CommunicatorOptions PatienceFor(milliseconds timeout, const std::function<bool()>& interrupted) {
  return {.timeout = timeout, .interrupted = interrupted};
}

class TcpEntrance : public Entrance {
 public:
  TcpEntrance(const JobSecret& door, const StreamMaker& stream, Socket listener)
      : reception_(door, kAggregatorRank, kHandshakeRanks, stream, std::move(listener), {}) {
    reception_.AdmitAll();
  }

  void AddTo(std::vector<pollfd>& descriptors) const override { reception_.AddTo(descriptors); }
  Clock::time_point next() const override { return reception_.next(); }
  std::string trouble() const override {
    return reception_.refused().empty() ? "" : StrCat("refused: ", reception_.refused());
  }
  absl::StatusOr<std::vector<Link>> Advance(std::span<const pollfd> polled) override {
    DTNN_ASSIGN_OR_RETURN(std::vector<Greeting> greetings, reception_.Advance(polled));
    std::vector<Link> arrived;
    for (Greeting& greeting : greetings) {
      arrived.push_back({std::move(greeting.stream), std::move(greeting.address)});
    }
    return arrived;
  }

 private:
  Reception reception_;
};

class RelayEntrance : public Entrance {
 public:
  RelayEntrance(MeetingPlace place, const JobSecret& door, std::function<bool()> interrupted)
      : place_(std::move(place)), secret_(door), interrupted_(std::move(interrupted)) {}

  absl::Status Open(milliseconds timeout) {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams, place_.datagrams(secret_));
    DTNN_ASSIGN_OR_RETURN(
        door_, RelayDoor::Open(std::move(datagrams), secret_, PatienceFor(timeout, interrupted_)));
    return absl::OkStatus();
  }

  void AddTo(std::vector<pollfd>& descriptors) const override {
    descriptors.push_back({door_ ? door_->descriptor() : -1, POLLIN, 0});
  }
  Clock::time_point next() const override { return door_ ? door_->next() : open_at_; }
  std::string trouble() const override {
    if (door_ == nullptr || door_->refused().empty()) return trouble_;
    return StrCat("refused: ", door_->refused());
  }
  absl::StatusOr<std::vector<Link>> Advance(std::span<const pollfd> /*polled*/) override {
    if (door_ != nullptr) {
      absl::StatusOr<std::vector<Link>> arrived = door_->Advance();
      if (arrived.ok() || !absl::IsUnavailable(arrived.status())) return arrived;
      trouble_ = StrCat(arrived.status().message(), "; calls again");
      door_ = nullptr;
      open_at_ = Clock::now();
      return std::vector<Link>();
    }
    if (Clock::now() < open_at_) return std::vector<Link>();
    const absl::Status opened = Open(kReopening);
    if (opened.ok()) trouble_ = StrCat("is at ", place_.address.ToString(), " again");
    open_at_ = Clock::now() + kReopenEvery;
    if (opened.ok() || absl::IsUnavailable(opened) || absl::IsDeadlineExceeded(opened)) {
      return std::vector<Link>();
    }
    return opened;
  }

 private:
  const MeetingPlace place_;
  const JobSecret secret_;
  const std::function<bool()> interrupted_;
  std::unique_ptr<RelayDoor> door_;  // null: what carries datagrams is gone
  Clock::time_point open_at_{};
  std::string trouble_;
};

absl::StatusOr<std::unique_ptr<Stream>> CallByTcp(const MeetingPlace& place, const JobSecret& door,
                                                  Clock::time_point end,
                                                  const std::function<bool()>& interrupted) {
  const auto wait = [&](int descriptor, short events) -> absl::StatusOr<bool> {
    pollfd polled = {descriptor, events, 0};
    poll(&polled, 1, int(kLongestSleep.count()));
    if (Interrupted(interrupted)) return absl::CancelledError("interrupted");
    return polled.revents != 0;
  };
  DTNN_ASSIGN_OR_RETURN(const std::vector<SocketAddress> addresses, Resolve(place.address));
  absl::Status last = Unavailable("no address");
  for (const SocketAddress& address : addresses) {
    absl::StatusOr<Socket> socket = StartConnecting(address);
    last = socket.status();
    if (!last.ok()) continue;
    bool answered = false;
    while (!answered && Clock::now() < end) {
      DTNN_ASSIGN_OR_RETURN(answered, wait(socket->descriptor(), POLLOUT));
    }
    last = answered ? ConnectingError(*socket) : Unavailable("no answer");
    if (!last.ok()) continue;
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                          MakeStream(place.stream, *std::move(socket), place.address.host));
    DTNN_ASSIGN_OR_RETURN(
        Handshake handshake,
        Handshake::Connecting(door, kClientRank, kAggregatorRank, kHandshakeRanks, {}));
    Greeting greeting = {.stream = std::move(stream),
                         .address = place.address.ToString(),
                         .handshake = std::move(handshake),
                         .end = end};
    while (true) {
      DTNN_RETURN_IF_ERROR(greeting.Advance());
      if (greeting.done()) return std::move(greeting.stream);
      if (Clock::now() > end) return Unavailable("no answer to the handshake");
      DTNN_RETURN_IF_ERROR(wait(greeting.stream->descriptor(), greeting.events()).status());
    }
  }
  return last;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Entrance>> OpenEntrance(const MeetingPlace& place,
                                                       const JobSecret& secret,
                                                       milliseconds timeout,
                                                       const std::function<bool()>& interrupted) {
  DTNN_ASSIGN_OR_RETURN(const JobSecret door, secret.For(kHandshakePurpose));
  if (place.datagrams) {
    auto entrance = std::make_unique<RelayEntrance>(place, door, interrupted);
    DTNN_RETURN_IF_ERROR(entrance->Open(timeout));
    return entrance;
  }
  absl::StatusOr<Socket> listener =
      place.listener >= 0 ? AdoptListener(place.listener) : Listen(place.address);
  DTNN_RETURN_IF_ERROR(listener.status());
  return std::make_unique<TcpEntrance>(door, place.stream, *std::move(listener));
}

absl::StatusOr<Link> CallAggregator(const MeetingPlace& place, const JobSecret& secret,
                                    Clock::time_point end,
                                    const std::function<bool()>& interrupted) {
  DTNN_ASSIGN_OR_RETURN(const JobSecret door, secret.For(kHandshakePurpose));
  Link link = {.stream = nullptr, .address = place.address.ToString()};
  if (!place.datagrams) {
    DTNN_ASSIGN_OR_RETURN(link.stream, CallByTcp(place, door, end, interrupted));
    return link;
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams, place.datagrams(door));
  link.address = datagrams->name();
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
  absl::StatusOr<std::unique_ptr<Stream>> stream = CallThrough(
      std::move(datagrams), door, PatienceFor(std::max(milliseconds(1), left), interrupted));
  if (!stream.ok() && Interrupted(interrupted)) return absl::CancelledError("interrupted");
  if (absl::IsDeadlineExceeded(stream.status())) return Unavailable(stream.status().message());
  DTNN_RETURN_IF_ERROR(stream.status());
  link.stream = *std::move(stream);
  return link;
}

}  // namespace dtnn::federation
