#include "comm/tcp/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "comm/network_space.h"
#include "comm/patience.h"
#include "comm/tcp/handshake.h"
#include "comm/tcp/reception.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Patience::Clock;
using std::chrono::milliseconds;

// Between two attempts to connect.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);
// An attempt to connect that got no answer is given up for another one.
constexpr std::chrono::seconds kAttempt(5);

// Who is not there yet, or was too busy for this rank, may be later.
bool ComesLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsOutOfRange(status);
}

class Meeting {
 public:
  Meeting(const RendezvousOptions& options, const JobSecret& secret,
          const CommunicatorOptions& patience)
      : options_(options),
        secret_(secret),
        told_(patience),
        patience_(told_, patience.timeout, Clock::now()),
        cards_(size_t(options.size)) {
    mesh_.links.resize(size_t(options.size));
  }

  absl::StatusOr<Mesh> Run() {
    cards_[0].network_space = NetworkSpace();
    if (options_.size > 1) {
      DTNN_RETURN_IF_ERROR(options_.rank == 0 ? Gather() : Join());
    }
    std::vector<uint64_t> spaces;
    for (const RankCard& card : cards_) spaces.push_back(card.network_space);
    FindPlace(options_.rank, spaces, mesh_);
    return std::move(mesh_);
  }

 private:
  absl::Status Gather();
  absl::Status Join();
  // Connections of all these ranks.
  absl::Status AcceptAll(std::set<int> ranks);
  // A connection to that rank, in a handshake; errors are of this attempt.
  absl::StatusOr<Greeting> Dial(int rank, const Endpoint& endpoint, const SocketAddress& address);
  // At one of its addresses after another; asks for them where there are none.
  absl::Status DialAll(int rank, const Endpoint& endpoint, std::vector<SocketAddress>& addresses);
  absl::Status Call(int rank, const Endpoint& endpoint);
  // Writes, then reads into `bytes`, all of it.
  absl::Status Write(Stream& stream, std::string_view bytes, const std::string& what);
  absl::Status Read(Stream& stream, std::span<std::byte> bytes, const std::string& what);
  // Until something happens to the descriptors, or `until`; the errors of Patience.
  absl::Status Poll(std::span<pollfd> descriptors, Clock::time_point until,
                    const std::string& what);

  const RendezvousOptions& options_;
  const JobSecret& secret_;
  const CommunicatorOptions told_;
  Patience patience_;
  Socket listener_;
  std::vector<RankCard> cards_;  // by rank
  std::string refused_;          // the last connection that was, and why
  std::unique_ptr<Reception> reception_;
  Mesh mesh_;
};

absl::Status Meeting::Poll(std::span<pollfd> descriptors, Clock::time_point until,
                           const std::string& what) {
  const Clock::time_point begin = Clock::now();
  const Clock::time_point next = std::min(patience_.Next(begin), until);
  const auto pause = std::chrono::ceil<milliseconds>(next - begin).count();
  poll(descriptors.data(), descriptors.size(), int(std::clamp<int64_t>(pause, 0, 60'000)));
  const Clock::time_point now = Clock::now();
  const auto text = [&] {
    return StrCat("rank ", options_.rank, " has waited ", ToString(patience_.Waited(now)), " for ",
                  what, refused_.empty() ? "" : "; refused: ", refused_);
  };
  switch (patience_.Ask(now)) {
    case Patience::Verdict::kGoOn:
      break;
    case Patience::Verdict::kWarn:
      told_.warn(StrCat(text(), "; gives up in ", ToString(patience_.Left(now))));
      break;
    case Patience::Verdict::kInterrupted:
      return absl::UnavailableError(StrCat(text(), " when it received the signal to end"));
    case Patience::Verdict::kTimedOut:
      return absl::DeadlineExceededError(
          StrCat(text(),
                 "; is it running, with the same address and port, and does no firewall stop it?"));
  }
  return absl::OkStatus();
}

absl::Status Meeting::Write(Stream& stream, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
    DTNN_ASSIGN_OR_RETURN(const size_t n, stream.Write({&range, 1}));
    bytes.remove_prefix(n);
    if (n > 0) continue;
    pollfd descriptor = {stream.descriptor(), POLLIN | POLLOUT, 0};
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, Clock::time_point::max(), what));
  }
  return absl::OkStatus();
}

absl::Status Meeting::Read(Stream& stream, std::span<std::byte> bytes, const std::string& what) {
  while (!bytes.empty()) {
    DTNN_ASSIGN_OR_RETURN(const size_t n, stream.Read(bytes));
    bytes = bytes.subspan(n);
    if (n > 0) continue;
    pollfd descriptor = {stream.descriptor(), POLLIN, 0};
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, Clock::time_point::max(), what));
  }
  return absl::OkStatus();
}

absl::Status Meeting::AcceptAll(std::set<int> ranks) {
  reception_ = std::make_unique<Reception>(secret_, options_.rank, options_.size, options_.stream,
                                           std::move(listener_), std::move(ranks));
  while (!reception_->awaited().empty()) {
    std::vector<pollfd> descriptors;
    reception_->AddTo(descriptors);
    const std::set<int>& awaited = reception_->awaited();
    const std::vector<int> missing(awaited.begin(), awaited.end());
    DTNN_RETURN_IF_ERROR(
        Poll(descriptors, reception_->next(), StrCat(RankList(missing), " to connect")));
    DTNN_ASSIGN_OR_RETURN(std::vector<Greeting> arrived, reception_->Advance(descriptors));
    refused_ = reception_->refused();
    for (Greeting& greeting : arrived) {
      const size_t peer = size_t(greeting.handshake.peer());
      cards_[peer] = greeting.handshake.card();
      mesh_.links[peer] = {std::move(greeting.stream), greeting.address};
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Greeting> Meeting::Dial(int rank, const Endpoint& endpoint,
                                       const SocketAddress& address) {
  const std::string what = StrCat("rank ", rank, " to answer at ", endpoint.ToString());
  const Clock::time_point end = Clock::now() + kAttempt;
  DTNN_ASSIGN_OR_RETURN(Socket socket, StartConnecting(address));
  pollfd descriptor = {socket.descriptor(), POLLOUT, 0};
  while (descriptor.revents == 0) {
    if (Clock::now() >= end) return Unavailable("no answer");
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, end, what));
  }
  DTNN_RETURN_IF_ERROR(ConnectingError(socket));
  RankCard card = {.network_space = NetworkSpace()};
  if (rank == 0) {
    DTNN_ASSIGN_OR_RETURN(const Endpoint here, socket.Local());
    DTNN_ASSIGN_OR_RETURN(listener_, Listen({.host = here.host, .port = 0}));
    DTNN_ASSIGN_OR_RETURN(const Endpoint mine, listener_.Local());
    mine.host.copy(card.host, sizeof(card.host) - 1);
    card.port = mine.port;
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                        MakeStream(options_.stream, std::move(socket), endpoint.host));
  DTNN_ASSIGN_OR_RETURN(Handshake handshake,
                        Handshake::Connecting(secret_, options_.rank, rank, options_.size, card));
  Greeting greeting = {.stream = std::move(stream),
                       .address = endpoint.ToString(),
                       .handshake = std::move(handshake),
                       .end = end};
  while (true) {
    DTNN_RETURN_IF_ERROR(greeting.Advance());
    if (greeting.done()) return greeting;
    descriptor = {greeting.stream->descriptor(), greeting.events(), 0};
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, Clock::time_point::max(), what));
  }
}

absl::Status Meeting::DialAll(int rank, const Endpoint& endpoint,
                              std::vector<SocketAddress>& addresses) {
  // A name that is not known yet may be later; one that is known is not asked for again.
  if (addresses.empty()) {
    DTNN_ASSIGN_OR_RETURN(addresses, Resolve(endpoint));
  }
  absl::Status status;
  for (const SocketAddress& address : addresses) {
    absl::StatusOr<Greeting> greeting = Dial(rank, endpoint, address);
    if (greeting.ok()) {
      mesh_.links[size_t(rank)] = {std::move(greeting->stream), greeting->address};
      return absl::OkStatus();
    }
    status = greeting.status();
    if (!ComesLater(status)) break;
  }
  return status;
}

absl::Status Meeting::Call(int rank, const Endpoint& endpoint) {
  std::vector<SocketAddress> addresses;
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    const absl::Status status = DialAll(rank, endpoint, addresses);
    if (status.ok() || absl::IsDeadlineExceeded(status)) return status;
    const std::string whom = StrCat("rank ", rank, " at ", endpoint.ToString());
    if (!ComesLater(status)) {
      return WithContext(status, "rank ", options_.rank, " cannot join ", whom);
    }
    refused_ = StrCat("by ", whom, ": ", status.message());
    for (const Clock::time_point end = Clock::now() + pause; Clock::now() < end;) {
      DTNN_RETURN_IF_ERROR(Poll({}, end, StrCat(whom, " to answer")));
    }
  }
}

absl::Status Meeting::Gather() {
  if (options_.listener >= 0) {
    DTNN_ASSIGN_OR_RETURN(listener_, AdoptListener(options_.listener));
  } else {
    DTNN_ASSIGN_OR_RETURN(listener_, Listen(options_.address));
  }
  std::set<int> others;
  for (int rank = 1; rank < options_.size; ++rank) others.insert(rank);
  DTNN_RETURN_IF_ERROR(AcceptAll(others));
  const std::string_view cards(reinterpret_cast<const char*>(cards_.data()),
                               cards_.size() * sizeof(RankCard));
  for (const int rank : others) {
    const Link& link = mesh_.links[size_t(rank)];
    DTNN_RETURN_IF_ERROR(WithContext(Write(*link.stream, cards, StrCat("rank ", rank, " to read")),
                                     "rank ", rank, " at ", link.address));
  }
  mesh_.door = std::move(reception_);
  return absl::OkStatus();
}

absl::Status Meeting::Join() {
  DTNN_RETURN_IF_ERROR(Call(0, options_.address));
  const absl::Status read =
      Read(*mesh_.links[0].stream, std::as_writable_bytes(std::span(cards_)),
           StrCat("rank 0 at ", mesh_.links[0].address, " to name all ranks"));
  if (absl::IsOutOfRange(read)) {
    return Unavailable("rank 0 at ", mesh_.links[0].address, " is gone: ", read.message());
  }
  DTNN_RETURN_IF_ERROR(read);
  for (int rank = 1; rank < options_.rank; ++rank) {
    RankCard& card = cards_[size_t(rank)];
    card.host[sizeof(card.host) - 1] = '\0';
    DTNN_RETURN_IF_ERROR(Call(rank, {.host = card.host, .port = card.port}));
  }
  std::set<int> others;
  for (int rank = options_.rank + 1; rank < options_.size; ++rank) others.insert(rank);
  const std::vector<RankCard> known = cards_;
  DTNN_RETURN_IF_ERROR(AcceptAll(others));
  cards_ = known;  // as rank 0 tells all
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mesh> Meet(const RendezvousOptions& options, const JobSecret& secret,
                          const CommunicatorOptions& patience) {
  return Meeting(options, secret, patience).Run();
}

}  // namespace dtnn
