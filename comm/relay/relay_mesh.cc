#include "comm/relay/relay_mesh.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/network_space.h"
#include "comm/patience.h"
#include "comm/relay/packet.h"
#include "comm/relay/relay_link.h"
#include "comm/relay/shared_datagrams.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;
using std::chrono::milliseconds;

// Between two calls of a rank that does not answer.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);

class Relay {
 public:
  Relay(std::unique_ptr<Datagrams> datagrams, const RelayLink::Card& card, int size,
        const JobSecret& secret)
      : secret_(secret), rank_(card.instance.rank), datagrams_(std::move(datagrams)) {
    for (int peer = 0; peer < size; ++peer) {
      links_.push_back(
          peer == rank_
              ? nullptr
              : std::make_unique<RelayLink>(
                    RelayLink::Options{
                        .peer = peer, .size = size, .card = card, .window = datagrams_.window()},
                    secret_,
                    [this, peer](std::string bytes) { datagrams_.Send(peer, std::move(bytes)); },
                    [this] { Notify(); }));
    }
  }

  absl::Status Open(const Instance& me, const CommunicatorOptions& patience) {
    return datagrams_.Open(me,
                           {.heard = [this](std::string_view bytes) { Hear(bytes); },
                            .left =
                                [this](const Instance& who) {
                                  if (RelayLink* const link = LinkTo(who.rank)) link->Leave(who);
                                },
                            .cut = [this](const absl::Status& why) { Cut(why); }},
                           patience);
  }
  absl::Status Meet(const CommunicatorOptions& patience);
  RelayLink& link(int peer) { return *links_[size_t(peer)]; }
  std::string name() const { return datagrams_.name(); }
  int size() const { return int(links_.size()); }

 private:
  RelayLink* LinkTo(int rank) {
    return rank >= 0 && rank < size() ? links_[size_t(rank)].get() : nullptr;
  }
  void Hear(std::string_view bytes) {
    const std::optional<Packet> packet = ReadPacket(bytes, rank_);
    RelayLink* const link = packet ? LinkTo(packet->header.from) : nullptr;
    if (link != nullptr) link->Take(*packet);
  }
  void Cut(const absl::Status& why) {
    for (const std::unique_ptr<RelayLink>& link : links_) {
      if (link != nullptr) link->Cut(why);
    }
  }
  void Notify() {
    const std::lock_guard lock(mutex_);
    news_ = true;
    changed_.notify_all();
  }
  // Those that have not been heard of; the error of a link that has no hope.
  absl::StatusOr<std::vector<int>> Missing() const;
  std::string Refused() const;

  const JobSecret secret_;
  const int rank_;
  std::vector<std::unique_ptr<RelayLink>> links_;  // by rank; null: this one's
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  SharedDatagrams datagrams_;  // the first to go: its threads use the others
};

absl::StatusOr<std::vector<int>> Relay::Missing() const {
  std::vector<int> missing;
  for (int peer = 0; peer < int(links_.size()); ++peer) {
    if (links_[size_t(peer)] == nullptr) continue;
    const RelayLink& link = *links_[size_t(peer)];
    const absl::Status error = link.error();
    if (!error.ok() && !link.established()) {
      return WithContext(absl::IsOutOfRange(error) ? Unavailable(error.message()) : error, "rank ",
                         rank_, " cannot join rank ", peer, " by ", name());
    }
    if (!link.established()) missing.push_back(peer);
  }
  return missing;
}

std::string Relay::Refused() const {
  for (size_t peer = 0; peer < links_.size(); ++peer) {
    if (links_[peer] == nullptr || links_[peer]->established()) continue;
    const std::string refused = links_[peer]->refused();
    if (!refused.empty()) return StrCat("refused: rank ", peer, ", which ", refused);
  }
  return "";
}

absl::Status Relay::Meet(const CommunicatorOptions& options) {
  Wait wait(options);
  milliseconds pause = kPauseFirst;
  while (true) {
    DTNN_ASSIGN_OR_RETURN(std::vector<int> missing, Missing());
    const auto text = [&] {
      return Wait::Text{
          .who = StrCat("rank ", rank_),
          .what = StrCat(RankList(missing), " to join by ", name()),
          .trouble = Refused(),
          .advice = "are they running, with the same address, port, secret and PYMPI_SSL?"};
    };
    for (const int peer : missing) {
      if (peer < rank_) link(peer).Call();
    }
    DTNN_RETURN_IF_ERROR(wait.Until(Clock::now() + pause, text,
                                    [&](Clock::time_point until) -> absl::StatusOr<bool> {
                                      {
                                        std::unique_lock lock(mutex_);
                                        changed_.wait_until(lock, until, [&] { return news_; });
                                        news_ = false;
                                      }
                                      DTNN_ASSIGN_OR_RETURN(missing, Missing());
                                      return missing.empty();
                                    })
                             .status());
    if (missing.empty()) {
      // A rank that is frozen from now on has not kept the others from meeting.
      datagrams_.Flush(Clock::now() + options.timeout);
      return absl::OkStatus();
    }
    pause = std::min(2 * pause, kPauseLast);
  }
}

// A stream that keeps the relay as long as there is one.
class SharedStream : public Stream {
 public:
  SharedStream(std::shared_ptr<Relay> relay, std::unique_ptr<Stream> stream)
      : relay_(std::move(relay)), stream_(std::move(stream)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return stream_->Write(from);
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }
  bool writes_after_reading() const override { return stream_->writes_after_reading(); }

 private:
  const std::shared_ptr<Relay> relay_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace

absl::StatusOr<Mesh> MeetThrough(std::unique_ptr<Datagrams> datagrams, int rank, int size,
                                 const JobSecret& secret, const CommunicatorOptions& patience) {
  Mesh mesh;
  mesh.links.resize(size_t(size));
  std::vector<uint64_t> spaces(size_t(size), NetworkSpace());
  if (size > 1) {
    RelayLink::Card card = {.instance = {.rank = rank}, .network_space = NetworkSpace()};
    DTNN_ASSIGN_OR_RETURN(card.instance.number, datagrams->DrawNumber());
    const auto relay = std::make_shared<Relay>(std::move(datagrams), card, size, secret);
    DTNN_RETURN_IF_ERROR(relay->Open(card.instance, patience));
    DTNN_RETURN_IF_ERROR(relay->Meet(patience));
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      mesh.links[size_t(peer)] = {
          std::make_unique<SharedStream>(relay, relay->link(peer).MakeStream()), relay->name()};
      spaces[size_t(peer)] = relay->link(peer).card().network_space;
    }
  }
  FindPlace(rank, spaces, mesh);
  return mesh;
}

}  // namespace dtnn
