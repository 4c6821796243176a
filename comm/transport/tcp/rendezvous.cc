#include "comm/transport/tcp/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/network_space.h"
#include "comm/patience.h"
#include "comm/transport/meeting/stream_door.h"
#include "comm/transport/tcp/dial.h"
#include "comm/transport/tcp/own_listener.h"
#include "comm/transport/tcp/share_streams.h"
#include "comm/transport/tcp/stream_wait.h"
#include "comm/transport/tcp/tcp_listener.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;

// What a rank says of itself: where it listens, and what it shares with whom.
struct RankCard {
  char host[46] = {};  // an address in numbers; empty: rank 0's (own_listener.h)
  uint16_t port = 0;
  uint64_t network_space = 0;  // comm/network_space.h
  int32_t rank = 0;
  int32_t shares = 0;  // 1: memory, with other ranks of its host that say so too
};
static_assert(sizeof(RankCard) == kCardBytes && std::has_unique_object_representations_v<RankCard>);

RankCard ReadCard(std::string_view bytes) {
  RankCard card;
  std::memcpy(&card, bytes.data(), sizeof(card));
  card.host[sizeof(card.host) - 1] = '\0';
  return card;
}

std::string PurposeOf(int rank, int size) { return StrCat("rank ", rank, " of ", size); }

class Meeting {
 public:
  Meeting(const RendezvousOptions& options, const JobSecret& secret,
          const CommunicatorOptions& patience)
      : options_(options),
        secret_(secret),
        warn_(patience.warn),
        wait_(patience, StrCat("rank ", options.rank),
              [this] { return door_ == nullptr ? "" : door_->refused(); }),
        cards_(size_t(options.size)) {
    mesh_.links.resize(size_t(options.size));
  }

  absl::StatusOr<Mesh> Run() {
    // Also where no other rank will call: it is this one's to close.
    if (options_.rank == 0 && options_.listener >= 0) {
      DTNN_ASSIGN_OR_RETURN(listener_, AdoptListener(options_.listener));
    }
    cards_[0] = CardWithoutPlace();
    if (options_.size > 1) {
      DTNN_RETURN_IF_ERROR(options_.rank == 0 ? Gather() : Join());
    }
    std::vector<uint64_t> spaces;
    for (const RankCard& card : cards_) spaces.push_back(card.network_space);
    FindPlace(options_.rank, spaces, mesh_);
    DTNN_RETURN_IF_ERROR(Share());
    return std::move(mesh_);
  }

 private:
  absl::Status Gather();
  absl::Status Join();
  // Connections of all ranks above this one.
  absl::Status AcceptAll();
  absl::Status Call(int rank, const Endpoint& endpoint);
  // For that rank.
  absl::StatusOr<std::string> OwnCard(int to, const Socket& socket);
  RankCard CardWithoutPlace() const {
    return {.network_space = NetworkSpace(),
            .rank = options_.rank,
            .shares = options_.share_memory ? 1 : 0};
  }
  // Memory, with the other ranks of this host.
  absl::Status Share();

  const RendezvousOptions& options_;
  const JobSecret& secret_;
  const std::function<void(std::string_view)> warn_;
  StreamWait wait_;
  Socket listener_;
  std::vector<RankCard> cards_;  // by rank
  std::unique_ptr<StreamDoor> door_;
  Mesh mesh_;
};

absl::Status Meeting::AcceptAll() {
  // Shared with the door, which outlives this.
  const auto awaited = std::make_shared<std::set<int>>();
  for (int rank = options_.rank + 1; rank < options_.size; ++rank) awaited->insert(rank);
  const auto admit = [awaited, size = options_.size](
                         std::string_view card,
                         std::span<const std::string> others) -> absl::Status {
    const int rank = ReadCard(card).rank;
    const bool is_there = std::ranges::any_of(
        others, [rank](const std::string& other) { return ReadCard(other).rank == rank; });
    if (awaited->contains(rank) && !is_there) return absl::OkStatus();
    if (rank < 0 || rank >= size) return InvalidArgument("there is no rank ", rank, " of ", size);
    return InvalidArgument("another process has joined it as rank ", rank,
                           "; give every process of the job a rank of its own");
  };
  door_ = std::make_unique<StreamDoor>(secret_, PurposeOf(options_.rank, options_.size),
                                       TcpListener(std::move(listener_), options_.stream), admit);
  while (!awaited->empty()) {
    std::vector<pollfd> descriptors;
    door_->AddTo(descriptors);
    const std::vector<int> missing(awaited->begin(), awaited->end());
    DTNN_RETURN_IF_ERROR(
        wait_.Poll(descriptors, door_->next(), StrCat(RankList(missing), " to connect")));
    DTNN_ASSIGN_OR_RETURN(std::vector<Caller> arrived, door_->Advance(descriptors, Clock::now()));
    for (Caller& caller : arrived) {
      const RankCard card = ReadCard(caller.card);
      awaited->erase(card.rank);
      cards_[size_t(card.rank)] = card;
      mesh_.links[size_t(card.rank)] = {std::move(caller.stream), std::move(caller.address)};
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Meeting::OwnCard(int to, const Socket& socket) {
  RankCard card = CardWithoutPlace();
  if (to == 0) {
    DTNN_ASSIGN_OR_RETURN(OwnListener mine, ListenBeside(socket, options_.address));
    listener_ = std::move(mine.socket);
    mine.endpoint.host.copy(card.host, sizeof(card.host) - 1);
    card.port = mine.endpoint.port;
  }
  return std::string(reinterpret_cast<const char*>(&card), sizeof(card));
}

absl::Status Meeting::Call(int rank, const Endpoint& endpoint) {
  DTNN_ASSIGN_OR_RETURN(mesh_.links[size_t(rank)],
                        Dial({.address = endpoint,
                              .stream = options_.stream,
                              .purpose = PurposeOf(rank, options_.size),
                              .who = StrCat("rank ", options_.rank),
                              .door = StrCat("rank ", rank),
                              .card = [&](const Socket& socket) { return OwnCard(rank, socket); }},
                             secret_, wait_.wait()));
  return absl::OkStatus();
}

absl::Status Meeting::Gather() {
  if (listener_.descriptor() < 0) {
    DTNN_ASSIGN_OR_RETURN(listener_, Listen(options_.address));
  }
  DTNN_RETURN_IF_ERROR(AcceptAll());
  const std::string_view cards(reinterpret_cast<const char*>(cards_.data()),
                               cards_.size() * sizeof(RankCard));
  for (int rank = 1; rank < options_.size; ++rank) {
    const Link& link = mesh_.links[size_t(rank)];
    DTNN_RETURN_IF_ERROR(
        WithContext(wait_.Write(*link.stream, cards, StrCat("rank ", rank, " to read")), "rank ",
                    rank, " at ", link.address));
  }
  mesh_.door = std::move(door_);
  return absl::OkStatus();
}

absl::Status Meeting::Join() {
  DTNN_RETURN_IF_ERROR(Call(0, options_.address));
  const absl::Status read =
      wait_.Read(*mesh_.links[0].stream, std::as_writable_bytes(std::span(cards_)),
                 StrCat("rank 0 at ", mesh_.links[0].address, " to name all ranks"));
  if (absl::IsOutOfRange(read)) {
    return Unavailable("rank 0 at ", mesh_.links[0].address, " is gone: ", read.message());
  }
  DTNN_RETURN_IF_ERROR(read);
  for (int rank = 1; rank < options_.rank; ++rank) {
    RankCard& card = cards_[size_t(rank)];
    card.host[sizeof(card.host) - 1] = '\0';
    const Endpoint told = {.host = card.host, .port = card.port};
    DTNN_RETURN_IF_ERROR(Call(rank, EndpointFor(told, options_.address)));
  }
  const std::vector<RankCard> known = cards_;
  DTNN_RETURN_IF_ERROR(AcceptAll());
  cards_ = known;  // as rank 0 tells all
  return absl::OkStatus();
}

absl::Status Meeting::Share() {
  const RankCard& mine = cards_[size_t(options_.rank)];
  std::vector<int> others;
  for (int rank = 0; rank < options_.size; ++rank) {
    const RankCard& card = cards_[size_t(rank)];
    const bool here = rank != options_.rank && card.network_space == mine.network_space;
    if (here && mine.shares == 1 && card.shares == 1) others.push_back(rank);
  }
  DTNN_ASSIGN_OR_RETURN(const SharingTrouble trouble, ShareStreams(others, mesh_, wait_));
  // The lower rank of the two says it: of all of a host one line, by the first of them, since ranks
  // that do not share with the first do not say more.
  const auto higher = std::ranges::find_if(trouble.ranks, [&](int r) { return r > options_.rank; });
  const bool said = !others.empty() && others[0] < options_.rank &&
                    std::ranges::count(trouble.ranks, others[0]) > 0;
  if (higher == trouble.ranks.end() || said || !warn_) return absl::OkStatus();
  const size_t more = trouble.ranks.size() - 1;
  warn_(StrCat("rank ", options_.rank, " exchanges with rank ", *higher,
               more == 0 ? "" : StrCat(" and ", more, " more"),
               " of its host by TCP, not through shared memory, which is faster: ", trouble.why));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mesh> Meet(const RendezvousOptions& options, const JobSecret& secret,
                          const CommunicatorOptions& patience) {
  return Meeting(options, secret, patience).Run();
}

}  // namespace dtnn
