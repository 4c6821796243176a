#include "comm/relay/relay_door.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "comm/crypto/random_secret.h"
#include "comm/make_room.h"
#include "comm/network_space.h"
#include "comm/relay/packet.h"
#include "comm/relay/relay_link.h"
#include "comm/relay/shared_datagrams.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMostStrangers = 128;
constexpr std::chrono::seconds kStrangersTime(10);
// Between two calls that nobody answers.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);

// A stream, and what it needs.
class KeptStream : public Stream {
 public:
  KeptStream(std::shared_ptr<RelayLink> link, std::function<void()> when_gone)
      : link_(std::move(link)), stream_(link_->MakeStream()), when_gone_(std::move(when_gone)) {}
  ~KeptStream() override {
    stream_->CloseWriting();
    stream_ = nullptr;
    when_gone_();
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return stream_->Write(from);
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }
  bool writes_after_reading() const override { return stream_->writes_after_reading(); }

 private:
  const std::shared_ptr<RelayLink> link_;
  std::unique_ptr<Stream> stream_;
  const std::function<void()> when_gone_;
};

}  // namespace

class RelayDoor::Shared : public std::enable_shared_from_this<RelayDoor::Shared> {
 public:
  Shared(std::unique_ptr<Datagrams> datagrams, uint64_t number, const JobSecret& secret)
      : secret_(secret),
        card_{.instance = {.rank = 0, .number = number}, .network_space = NetworkSpace()},
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        datagrams_(std::move(datagrams)) {}

  absl::Status Open(const CommunicatorOptions& patience) {
    return datagrams_.Open(card_.instance,
                           {.heard = [this](std::string_view bytes) { Hear(bytes); },
                            .left = [this](const Instance& who) { Leave(who); },
                            .cut = [this](const absl::Status& why) { Cut(why); }},
                           patience);
  }
  int descriptor() const { return wake_; }
  Clock::time_point next() const {
    const std::lock_guard lock(mutex_);
    return strangers_.empty() ? Clock::time_point::max() : strangers_.front().end;
  }
  std::string refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  absl::StatusOr<std::vector<Link>> Advance();

 private:
  struct Stranger {
    int rank = 0;
    std::shared_ptr<RelayLink> link;
    Clock::time_point end;
  };

  void Wake() const { eventfd_write(wake_, 1); }
  std::shared_ptr<RelayLink> LinkOf(int rank) const {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(rank);
    return found == links_.end() ? nullptr : found->second;
  }
  void Hear(std::string_view bytes);
  std::shared_ptr<RelayLink> Admit(const Packet& call);
  void Leave(const Instance& who) {
    if (const std::shared_ptr<RelayLink> link = LinkOf(who.rank)) link->Leave(who);
  }
  void Cut(const absl::Status& why);
  void Forget(int rank) {
    std::shared_ptr<RelayLink> last;  // goes without the lock
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(rank);
    if (found == links_.end()) return;
    last = std::move(found->second);
    links_.erase(found);
  }

  const JobSecret secret_;
  const RelayLink::Card card_;
  const int wake_;
  // The last to go.
  const std::shared_ptr<void> close_wake_{nullptr, [wake = wake_](void*) { close(wake); }};
  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<RelayLink>> links_;  // by rank
  std::list<Stranger> strangers_;                    // the oldest first
  std::mt19937_64 random_{std::random_device()()};
  std::string refused_;
  absl::Status cut_;
  SharedDatagrams datagrams_;  // the first to go: its threads use the others
};

// Whoever knows the secret, or has recorded who did, gets a link.
std::shared_ptr<RelayLink> RelayDoor::Shared::Admit(const Packet& call) {
  const int rank = call.header.from;
  const absl::StatusOr<Secret> key = RelayLink::CallKey(secret_);
  if (!key.ok() || !OpenPacket(*key, call).ok()) {
    // It only helps who looks for the reason of a silence.
    datagrams_.Send(rank, BarePacket({.version = kPacketVersion,
                                      .kind = PacketHeader::Kind::kWrong,
                                      .from = 0,
                                      .to = rank,
                                      .size = kRanksOfDoor}));
    const std::lock_guard lock(mutex_);
    refused_ = StrCat("caller ", rank, " by ", datagrams_.name(),
                      ", which does not know this job's secret");
    Wake();
    return nullptr;
  }
  auto link = std::make_shared<RelayLink>(
      RelayLink::Options{
          .peer = rank, .size = kRanksOfDoor, .card = card_, .window = datagrams_.window()},
      secret_, [this, rank](std::string bytes) { datagrams_.Send(rank, std::move(bytes)); },
      [this] { Wake(); });
  std::shared_ptr<RelayLink> dropped;  // goes without the lock
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = links_.try_emplace(rank, link);
  if (!is_new) return place->second;  // somebody else with that number has just called, too
  const Clock::time_point now = Clock::now();
  strangers_.push_back({.rank = rank, .link = link, .end = now + kStrangersTime});
  if (strangers_.size() > kMostStrangers) {
    // Where they call from nobody knows; what they are to say next they have not said.
    std::vector<WaitingCaller> callers;
    for (const Stranger& stranger : strangers_)
      callers.push_back({"", stranger.end - kStrangersTime});
    const auto drop =
        std::next(strangers_.begin(), ptrdiff_t(CallerToDrop(callers, now, random_())));
    dropped = std::move(drop->link);
    links_.erase(drop->rank);
    strangers_.erase(drop);
  }
  return dropped == link ? nullptr : link;
}

void RelayDoor::Shared::Hear(std::string_view bytes) {
  const std::optional<Packet> packet = ReadPacket(bytes, card_.instance.rank);
  if (!packet) return;
  std::shared_ptr<RelayLink> link = LinkOf(packet->header.from);
  if (link == nullptr && packet->header.kind == PacketHeader::Kind::kCall) link = Admit(*packet);
  if (link != nullptr) link->Take(*packet);
}

void RelayDoor::Shared::Cut(const absl::Status& why) {
  std::vector<std::shared_ptr<RelayLink>> links;
  {
    const std::lock_guard lock(mutex_);
    cut_ = why;
    for (const auto& [rank, link] : links_) links.push_back(link);
  }
  for (const std::shared_ptr<RelayLink>& link : links) link->Cut(why);
  Wake();
}

absl::StatusOr<std::vector<Link>> RelayDoor::Shared::Advance() {
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
  std::vector<Link> arrived;
  std::vector<std::shared_ptr<RelayLink>> gone;  // without the lock
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    const absl::Status error = stranger->link->error();
    const bool here = stranger->link->established();
    if (!here && error.ok() && now < stranger->end) {
      ++stranger;
      continue;
    }
    if (here) {
      const int rank = stranger->rank;
      arrived.push_back(
          {std::make_unique<KeptStream>(stranger->link,
                                        [self = shared_from_this(), rank] { self->Forget(rank); }),
           StrCat("caller ", rank, " by ", datagrams_.name())});
    } else {
      refused_ = StrCat("caller ", stranger->rank, " by ", datagrams_.name(), ", which ",
                        error.ok() ? "said too little" : error.message());
      links_.erase(stranger->rank);
    }
    gone.push_back(std::move(stranger->link));
    stranger = strangers_.erase(stranger);
  }
  if (arrived.empty() && !cut_.ok()) return cut_;
  return arrived;
}

absl::StatusOr<std::unique_ptr<RelayDoor>> RelayDoor::Open(std::unique_ptr<Datagrams> datagrams,
                                                           const JobSecret& secret,
                                                           const CommunicatorOptions& patience) {
  DTNN_ASSIGN_OR_RETURN(const uint64_t number, datagrams->DrawNumber());
  auto shared = std::make_shared<Shared>(std::move(datagrams), number, secret);
  DTNN_RETURN_IF_ERROR(shared->Open(patience));
  return std::unique_ptr<RelayDoor>(new RelayDoor(std::move(shared)));
}

int RelayDoor::descriptor() const { return shared_->descriptor(); }
Clock::time_point RelayDoor::next() const { return shared_->next(); }
absl::StatusOr<std::vector<Link>> RelayDoor::Advance() { return shared_->Advance(); }
std::string RelayDoor::refused() const { return shared_->refused(); }

namespace {

// What a caller has: the datagrams, and one link.
class Caller {
 public:
  Caller(std::unique_ptr<Datagrams> datagrams, uint64_t number, const JobSecret& secret)
      : secret_(secret), number_(number), datagrams_(std::move(datagrams)) {}

  absl::Status Call(const CommunicatorOptions& options);
  std::shared_ptr<RelayLink> link() const { return link_; }

 private:
  void Hear(std::string_view bytes) {
    const std::optional<Packet> packet = ReadPacket(bytes, rank_);
    if (packet && packet->header.from == 0) link_->Take(*packet);
  }
  void Notify() {
    const std::lock_guard lock(mutex_);
    news_ = true;
    changed_.notify_all();
  }

  const JobSecret secret_;
  const uint64_t number_;
  int rank_ = 0;
  std::shared_ptr<RelayLink> link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  SharedDatagrams datagrams_;  // the first to go: its threads use the others
};

absl::Status Caller::Call(const CommunicatorOptions& options) {
  RelayLink::Card card = {.instance = {.rank = 0, .number = number_},
                          .network_space = NetworkSpace()};
  uint64_t drawn = 0;
  DTNN_RETURN_IF_ERROR(FillRandom({reinterpret_cast<uint8_t*>(&drawn), sizeof(drawn)}));
  rank_ = card.instance.rank = 1 + int(drawn % (kRanksOfDoor - 2));
  link_ = std::make_shared<RelayLink>(
      RelayLink::Options{
          .peer = 0, .size = kRanksOfDoor, .card = card, .window = datagrams_.window()},
      secret_, [this](std::string bytes) { datagrams_.Send(0, std::move(bytes)); },
      [this] { Notify(); });
  Wait wait(options);
  DTNN_RETURN_IF_ERROR(
      datagrams_.Open(card.instance,
                      {.heard = [this](std::string_view bytes) { Hear(bytes); },
                       .left = [this](const Instance& who) { link_->Leave(who); },
                       .cut = [this](const absl::Status& why) { link_->Cut(why); }},
                      options));
  const auto text = [this] {
    const std::string refused = link_->refused();
    return Wait::Text{
        .who = "this process",
        .what = StrCat("an answer by ", datagrams_.name()),
        .trouble = refused.empty() ? "" : StrCat("refused by a process that ", refused)};
  };
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    link_->Call();
    DTNN_ASSIGN_OR_RETURN(const bool established,
                          wait.Until(Clock::now() + pause, text,
                                     [&](Clock::time_point until) -> absl::StatusOr<bool> {
                                       std::unique_lock lock(mutex_);
                                       changed_.wait_until(lock, until, [&] { return news_; });
                                       news_ = false;
                                       lock.unlock();
                                       if (link_->established()) return true;
                                       const absl::Status error = link_->error();
                                       DTNN_RETURN_IF_ERROR(absl::IsOutOfRange(error)
                                                                ? Unavailable(error.message())
                                                                : error);
                                       return false;
                                     }));
    if (established) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> CallThrough(std::unique_ptr<Datagrams> datagrams,
                                                    const JobSecret& secret,
                                                    const CommunicatorOptions& patience) {
  DTNN_ASSIGN_OR_RETURN(const uint64_t number, datagrams->DrawNumber());
  const auto caller = std::make_shared<Caller>(std::move(datagrams), number, secret);
  DTNN_RETURN_IF_ERROR(caller->Call(patience));
  // The stream keeps the caller, which is what its link needs.
  return std::make_unique<KeptStream>(caller->link(), [caller] {});
}

}  // namespace dtnn
