#include "comm/transport/relay/relay_links.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "comm/transport/relay/kept_stream.h"
#include "comm/transport/relay/packet.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;
using std::chrono::milliseconds;

// Between two calls that are not answered.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);

}  // namespace

RelayLinks::RelayLinks(std::unique_ptr<Datagrams> datagrams, const RelayLink::Card& card, int size,
                       const std::vector<int>& peers, const JobSecret& secret)
    : secret_(secret), me_(card.instance), datagrams_(std::move(datagrams)) {
  for (const int peer : peers) {
    links_[peer] = std::make_unique<RelayLink>(
        RelayLink::Options{.peer = peer, .size = size, .card = card, .window = datagrams_.window()},
        secret_, [this, peer](std::string bytes) { datagrams_.Send(peer, std::move(bytes)); },
        [this] { Notify(); });
  }
}

absl::Status RelayLinks::Open(const CommunicatorOptions& patience) {
  return datagrams_.Open(me_,
                         {.received = [this](std::string_view bytes) { Hear(bytes); },
                          .left =
                              [this](const Instance& who) {
                                const auto found = links_.find(who.rank);
                                if (found != links_.end()) found->second->Leave(who);
                              },
                          .cut =
                              [this](const absl::Status& why) {
                                for (const auto& [peer, link] : links_) link->Cut(why);
                              }},
                         patience);
}

void RelayLinks::Hear(std::string_view bytes) {
  const std::optional<Packet> packet = ReadPacket(bytes, me_.rank);
  if (!packet) return;
  const auto found = links_.find(packet->header.from);
  if (found != links_.end()) found->second->Take(*packet);
}

void RelayLinks::Notify() {
  const std::lock_guard lock(mutex_);
  news_ = true;
  changed_.notify_all();
}

absl::StatusOr<std::vector<int>> RelayLinks::Missing(const std::string& who) const {
  std::vector<int> missing;
  for (const auto& [peer, link] : links_) {
    if (link->established()) continue;
    const absl::Status error = link->error();
    if (!error.ok() && !link->established()) {
      return WithContext(absl::IsOutOfRange(error) ? Unavailable(error.message()) : error, who,
                         " cannot join rank ", peer, " by ", name());
    }
    missing.push_back(peer);
  }
  return missing;
}

std::string RelayLinks::Refused() const {
  for (const auto& [peer, link] : links_) {
    if (link->established()) continue;
    const std::string refused = link->refused();
    if (!refused.empty()) return StrCat("refused: rank ", peer, ", which ", refused);
  }
  return "";
}

absl::Status RelayLinks::Meet(
    const std::string& who, const std::function<std::string(const std::vector<int>& missing)>& whom,
    const CommunicatorOptions& patience, milliseconds most) {
  Wait wait(patience);
  DTNN_RETURN_IF_ERROR(Open(patience));
  const Clock::time_point end = Clock::now() + most;
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    DTNN_ASSIGN_OR_RETURN(std::vector<int> missing, Missing(who));
    for (const int peer : missing) {
      if (peer < me_.rank) links_.at(peer)->Call();
    }
    const auto text = [&] {
      return Wait::Text{
          .who = who,
          .what = StrCat(whom(missing), " by ", name()),
          .trouble = Refused(),
          .advice = "are they running, with the same address, port, secret and PYMPI_SSL?"};
    };
    const auto all_there = [&](Clock::time_point until) -> absl::StatusOr<bool> {
      {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, missing.empty() ? Clock::now() : until, [&] { return news_; });
        news_ = false;
      }
      DTNN_ASSIGN_OR_RETURN(missing, Missing(who));
      return missing.empty();
    };
    DTNN_ASSIGN_OR_RETURN(const bool met, wait.Until(Clock::now() + pause, text, all_there));
    if (!met && Clock::now() >= end) return Unavailable("no answer by ", name());
    if (!met) continue;
    return FlushAll(who, patience);
  }
}

// One that is frozen from now on has not kept the others from meeting.
absl::Status RelayLinks::FlushAll(const std::string& who, const CommunicatorOptions& patience) {
  Wait wait(patience);
  const auto text = [&] {
    return Wait::Text{.who = who,
                      .what = StrCat("its first messages to leave by ", name()),
                      .advice = "is the network slow, or another process frozen?"};
  };
  const absl::Status left =
      wait.For(text, [this](Clock::time_point until) { return datagrams_.Flush(until); });
  return absl::IsDeadlineExceeded(left) ? absl::OkStatus() : left;
}

std::unique_ptr<Stream> RelayLinks::StreamTo(int peer, std::shared_ptr<RelayLinks> links) {
  std::unique_ptr<Stream> stream = links->links_.at(peer)->MakeStream();
  return std::make_unique<KeptStream>(std::move(stream), [links = std::move(links)] {});
}

}  // namespace dtnn
