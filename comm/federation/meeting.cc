#include "comm/federation/meeting.h"

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/agreed.h"
#include "comm/transport/meeting/stream_door.h"
#include "comm/transport/relay/relay_door.h"
#include "comm/transport/tcp/dial.h"
#include "comm/transport/tcp/tcp_listener.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// How long one attempt to reach a carrier that is gone may keep the aggregator from deadlines, and
// how often there is one.
constexpr milliseconds kReopening(300), kReopenEvery(1000);

// A door through a carrier, which may be gone for a while.
class LastingDoor : public Door {
 public:
  LastingDoor(MeetingPlace place, const JobSecret& secret, CommunicatorOptions patience)
      : place_(std::move(place)), secret_(secret), patience_(std::move(patience)) {}

  absl::Status Open() {
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams, place_.datagrams(secret_));
    DTNN_ASSIGN_OR_RETURN(door_, RelayDoor::Open(std::move(datagrams), secret_, patience_));
    return absl::OkStatus();
  }

  void AddTo(std::vector<pollfd>& descriptors) const override {
    if (door_ != nullptr) door_->AddTo(descriptors);
  }
  Clock::time_point next() const override { return door_ ? door_->next() : open_at_; }
  std::string refused() const override { return door_ == nullptr ? "" : door_->refused(); }
  absl::StatusOr<std::vector<Caller>> Advance(std::span<const pollfd> polled,
                                              Clock::time_point now) override {
    if (door_ != nullptr) {
      absl::StatusOr<std::vector<Caller>> arrived = door_->Advance(polled, now);
      if (arrived.ok() || !absl::IsUnavailable(arrived.status())) return arrived;
      Warn(StrCat(arrived.status().message(), "; calls again"));
      door_ = nullptr;
      open_at_ = now;
      return std::vector<Caller>();
    }
    if (now < open_at_) return std::vector<Caller>();
    patience_.timeout = kReopening;
    const absl::Status opened = Open();
    if (opened.ok()) Warn(StrCat("is at ", place_.address.ToString(), " again"));
    open_at_ = Clock::now() + kReopenEvery;
    if (opened.ok() || absl::IsUnavailable(opened) || absl::IsDeadlineExceeded(opened)) {
      return std::vector<Caller>();
    }
    return opened;
  }

 private:
  void Warn(const std::string& line) const {
    if (patience_.warn) patience_.warn(line);
  }

  const MeetingPlace place_;
  const JobSecret secret_;
  CommunicatorOptions patience_;
  std::unique_ptr<RelayDoor> door_;  // null: the carrier is gone
  Clock::time_point open_at_{};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Door>> OpenDoor(const MeetingPlace& place, const JobSecret& secret,
                                               const CommunicatorOptions& patience) {
  if (place.datagrams) {
    DTNN_ASSIGN_OR_RETURN(const JobSecret own, secret.For(kDatagramsPurpose));
    auto door = std::make_unique<LastingDoor>(place, own, patience);
    DTNN_RETURN_IF_ERROR(door->Open());
    return door;
  }
  absl::StatusOr<Socket> listener =
      place.listener >= 0 ? AdoptListener(place.listener) : Listen(place.address);
  DTNN_RETURN_IF_ERROR(listener.status());
  return std::make_unique<StreamDoor>(secret, std::string(kAggregatorPurpose),
                                      TcpListener(*std::move(listener), place.stream));
}

absl::StatusOr<Link> CallAggregator(const MeetingPlace& place, const JobSecret& secret,
                                    Wait& wait) {
  if (!place.datagrams) {
    return Dial({.address = place.address,
                 .stream = place.stream,
                 .purpose = std::string(kAggregatorPurpose),
                 .who = "this client",
                 .door = "the aggregator"},
                secret, wait);
  }
  DTNN_ASSIGN_OR_RETURN(const JobSecret own, secret.For(kDatagramsPurpose));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Datagrams> datagrams, place.datagrams(own));
  const std::string address = datagrams->name();
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                        CallThrough(std::move(datagrams), own, wait.Rest()));
  return Link{std::move(stream), address};
}

}  // namespace dtnn::federation
