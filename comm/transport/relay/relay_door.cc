#include "comm/transport/relay/relay_door.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "comm/descriptors/wakeup.h"
#include "comm/network_space.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/transport/meeting/waiting_room.h"
#include "comm/transport/relay/kept_stream.h"
#include "comm/transport/relay/packet.h"
#include "comm/transport/relay/relay_link.h"
#include "comm/transport/relay/relay_links.h"
#include "comm/transport/relay/shared_datagrams.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;

// One that has answered and then ended never completes a link.
constexpr std::chrono::seconds kAttempt(10);

}  // namespace

class RelayDoor::Shared : public std::enable_shared_from_this<RelayDoor::Shared> {
 public:
  Shared(std::unique_ptr<Datagrams> datagrams, uint64_t number, const JobSecret& secret)
      : secret_(secret),
        card_{.instance = {.rank = 0, .number = number}, .network_space = NetworkSpace()},
        datagrams_(std::move(datagrams)) {}

  absl::Status Open(const CommunicatorOptions& patience) {
    DTNN_RETURN_IF_ERROR(wakeup_.status());
    return datagrams_.Open(card_.instance,
                           {.received = [this](std::string_view bytes) { Hear(bytes); },
                            .left = [this](const Instance& who) { Leave(who); },
                            .cut = [this](const absl::Status& why) { Cut(why); }},
                           patience);
  }
  int descriptor() const { return wakeup_.descriptor(); }
  Clock::time_point next() const {
    const std::lock_guard lock(mutex_);
    return pending_.next();
  }
  std::string refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  absl::StatusOr<std::vector<Caller>> Advance(Clock::time_point now);

 private:
  struct Pending {
    int rank = 0;
    std::shared_ptr<RelayLink> link;
  };

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
  const Wakeup wakeup_;
  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<RelayLink>> links_;  // by rank
  // What they are to say next they have not said; where they call from is not known.
  WaitingRoom<Pending> pending_;
  std::string refused_;
  absl::Status cut_;
  SharedDatagrams datagrams_;  // the first to go: its threads use the others
};

// A caller that knows the secret, or has recorded one that did, gets a link.
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
    wakeup_.Wake();
    return nullptr;
  }
  auto link = std::make_shared<RelayLink>(
      RelayLink::Options{
          .peer = rank, .size = kRanksOfDoor, .card = card_, .window = datagrams_.window()},
      secret_, [this, rank](std::string bytes) { datagrams_.Send(rank, std::move(bytes)); },
      [this] { wakeup_.Wake(); });
  std::optional<Pending> dropped;  // goes without the lock
  const std::lock_guard lock(mutex_);
  if (const absl::Status error = link->error(); !error.ok()) {
    refused_ = StrCat("caller ", rank, " by ", datagrams_.name(), ": ", error.message());
    wakeup_.Wake();
    return nullptr;
  }
  const auto [place, is_new] = links_.try_emplace(rank, link);
  if (!is_new) return place->second;  // somebody else with that number has just called, too
  dropped = pending_.Enter({.rank = rank, .link = link}, "", Clock::now());
  if (dropped) links_.erase(dropped->rank);
  return dropped && dropped->link == link ? nullptr : link;
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
  wakeup_.Wake();
}

absl::StatusOr<std::vector<Caller>> RelayDoor::Shared::Advance(Clock::time_point now) {
  wakeup_.Drain();
  std::vector<Caller> arrived;
  std::vector<std::shared_ptr<RelayLink>> gone;  // without the lock
  const std::lock_guard lock(mutex_);
  for (auto place = pending_.places().begin(); place != pending_.places().end();) {
    const auto& [rank, link] = place->caller;
    const absl::Status error = link->error();
    const bool here = link->established();
    if (!here && error.ok() && now < place->end) {
      ++place;
      continue;
    }
    const std::string address = StrCat("caller ", rank, " by ", datagrams_.name());
    if (here) {
      arrived.push_back(
          {std::make_unique<KeptStream>(link->MakeStream(), [self = shared_from_this(), link = link,
                                                             rank = rank] { self->Forget(rank); }),
           address});
    } else {
      refused_ = StrCat(address, ", which ", error.ok() ? "said too little" : error.message());
      links_.erase(rank);
    }
    gone.push_back(link);
    place = pending_.places().erase(place);
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

void RelayDoor::AddTo(std::vector<pollfd>& descriptors) const {
  descriptors.push_back({shared_->descriptor(), POLLIN, 0});
}
Clock::time_point RelayDoor::next() const { return shared_->next(); }
absl::StatusOr<std::vector<Caller>> RelayDoor::Advance(std::span<const pollfd> /*polled*/,
                                                       Clock::time_point now) {
  return shared_->Advance(now);
}
std::string RelayDoor::refused() const { return shared_->refused(); }

absl::StatusOr<std::unique_ptr<Stream>> CallThrough(std::unique_ptr<Datagrams> datagrams,
                                                    const JobSecret& secret,
                                                    const CommunicatorOptions& patience) {
  RelayLink::Card card = {.instance = {}, .network_space = NetworkSpace()};
  DTNN_ASSIGN_OR_RETURN(card.instance.number, datagrams->DrawNumber());
  uint64_t drawn = 0;
  DTNN_RETURN_IF_ERROR(FillRandom({reinterpret_cast<uint8_t*>(&drawn), sizeof(drawn)}));
  card.instance.rank = 1 + int(drawn % (kRanksOfDoor - 2));
  const auto links = std::make_shared<RelayLinks>(std::move(datagrams), card, kRanksOfDoor,
                                                  std::vector<int>{0}, secret);
  const auto whom = [](const std::vector<int>&) { return "an answer"; };
  DTNN_RETURN_IF_ERROR(links->Meet("this process", whom, patience, kAttempt));
  return RelayLinks::StreamTo(0, links);
}

}  // namespace dtnn
