#include "comm/ranks/elastic/coordinator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "comm/transport/tcp/tcp_listener.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// Those that wait beside as many ranks as may be.
constexpr size_t kMostWaiting = 64;
// Messages of one rank that are heard before others have their turn, and bytes that it may leave
// unread before it is given up.
constexpr int kWordsPerTurn = 4;
constexpr size_t kMostUnread = 16384;
// Without files, until some may be free again.
constexpr milliseconds kFilesPause(100);
// So often those that wait hear that they still do.
constexpr std::chrono::seconds kAlivePause(5);
// How long a rank that others have given up may take to join again: it may be the one that told
// them of another's loss.
constexpr milliseconds kLeastGrace(1000);

}  // namespace

Coordinator::Coordinator(const CoordinatorOptions& options, const JobSecret& secret,
                         Socket listener)
    : options_(options),
      door_(secret, kCoordinatorPurpose, TcpListener(std::move(listener), options.stream)) {}

void Coordinator::AddTo(std::vector<pollfd>& descriptors) const {
  for (const Peer& peer : peers_) {
    const Stream& stream = *peer.stream;
    const bool more = !peer.out.empty() && !stream.writes_after_reading();
    descriptors.push_back(
        {stream.descriptor(), short(POLLIN | (more || stream.wants_to_write() ? POLLOUT : 0)), 0});
  }
  const size_t door = descriptors.size();
  door_.AddTo(descriptors);
  if (Clock::now() < accept_at_) descriptors[door].fd = -1;  // the listener
}

absl::Status Coordinator::Turn(std::span<const pollfd> polled) {
  const size_t known = peers_.size();
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto here = peer++;
    if (!Hear(*here)) Remove(here);
  }
  const Clock::time_point now = Clock::now();
  absl::StatusOr<std::vector<Caller>> arrived = door_.Advance(polled.subspan(known), now);
  const bool short_of_files = absl::IsResourceExhausted(arrived.status());
  if (!short_of_files) DTNN_RETURN_IF_ERROR(arrived.status());
  if (polled[known].revents != 0) {
    if (short_of_files && accept_at_ == Clock::time_point()) {
      Say(StrCat("ranks that come have to wait: ", arrived.status().message()));
    }
    accept_at_ = short_of_files ? now + kFilesPause : Clock::time_point();
  }
  if (arrived.ok()) Welcome(*std::move(arrived));
  next_ = door_.next();
  if (accept_at_ > now) next_ = std::min(next_, accept_at_);
  const bool tell = now >= alive_at_;
  if (tell) alive_at_ = now + kAlivePause;
  for (Peer& peer : peers_) {
    if (peer.waits() && tell) Send(peer, {.kind = ElasticNotice::kAlive});
    if (peer.waits()) next_ = std::min(next_, alive_at_);
  }
  Decide();
  return absl::OkStatus();
}

void Coordinator::Welcome(std::vector<Caller> arrived) {
  for (Caller& caller : arrived) {
    Peer& peer = peers_.emplace_back(
        Peer{.stream = std::move(caller.stream), .address = std::move(caller.address)});
    if (peers_.size() > size_t(options_.range.max) + kMostWaiting) {
      Send(peer, {.kind = ElasticNotice::kNoRoom});
      peers_.pop_back();
    } else if (!Hear(peer)) {
      Remove(std::prev(peers_.end()));
    }
  }
}

bool Coordinator::Hear(Peer& peer) {
  for (int turn = 0; turn < kWordsPerTurn; ++turn) {
    std::array<std::byte, sizeof(ElasticWord)> bytes;
    const size_t missing = sizeof(ElasticWord) - peer.in.size();
    const absl::StatusOr<size_t> n = peer.stream->Read(std::span(bytes).first(missing));
    if (!n.ok()) return false;
    if (*n == 0) break;
    peer.in.append(reinterpret_cast<const char*>(bytes.data()), *n);
    if (peer.in.size() < sizeof(ElasticWord)) continue;
    ElasticWord word;
    if (!ReadMessage(std::exchange(peer.in, ""), word) || !Take(peer, word)) return false;
  }
  return Flush(peer);
}

bool Coordinator::Take(Peer& peer, const ElasticWord& word) {
  if (word.kind == ElasticWord::kDone || word.kind == ElasticWord::kStopped) {
    if (!peer.member()) return true;
    stopped_ |= word.kind == ElasticWord::kStopped;  // also where others were done
    End(ElasticNotice::kEnded);
    return true;
  }
  if (word.kind != ElasticWord::kJoin) return false;
  if (over_) {
    Send(peer, {.kind = *over_});
    return true;
  }
  const Clock::time_point now = Clock::now();
  if (peer.member()) {
    if (!first_return_) first_return_ = now;
    last_return_ = now;
  }
  peer.word = word;
  peer.told = false;
  return true;
}

bool Coordinator::Flush(Peer& peer) {
  while (!peer.out.empty()) {
    const std::span<const std::byte> range = std::as_bytes(std::span(peer.out));
    const absl::StatusOr<size_t> n = peer.stream->Write({&range, 1});
    if (!n.ok()) return false;
    if (*n == 0) break;
    peer.out.erase(0, *n);
  }
  return peer.out.size() <= kMostUnread;
}

void Coordinator::Send(Peer& peer, ElasticNotice notice) {
  if (notice.generation == 0) notice.generation = generation_;
  notice.min = options_.range.min;
  notice.max = options_.range.max;
  peer.out += BytesOfMessage(notice);
  Flush(peer);  // what fails shows when it is heard
}

void Coordinator::Remove(std::list<Peer>::iterator peer) {
  const bool member = peer->member();
  peers_.erase(peer);
  if (!member || over_) return;
  ++lost_;
  // Those that are still about to connect to it need not wait.
  for (Peer& other : peers_) {
    if (other.member() && !other.waits()) Send(other, {.kind = ElasticNotice::kBroken});
  }
}

milliseconds Coordinator::Timeout() const {
  // Longer would only keep a rank waiting that has chosen to wait so long.
  constexpr int64_t kMost = int64_t{1000} * 60 * 60 * 24;
  int64_t longest = 1;
  for (const Peer& peer : peers_) {
    if (peer.waits()) longest = std::max(longest, std::min(peer.word->timeout_ms, kMost));
  }
  return milliseconds(longest);
}

absl::Status Coordinator::outcome() const {
  assert(over());
  if (*over_ != ElasticNotice::kEnded) return ErrorOf(*over_, options_.range);
  if (!stopped_) return absl::OkStatus();
  return FailedPrecondition("the run has failed, or was stopped, before it was complete");
}

void Coordinator::Decide() {
  std::vector<Peer*> returned, newcomers;
  bool members = false;
  for (Peer& peer : peers_) {
    members |= peer.member();
    if (peer.waits()) (peer.member() ? returned : newcomers).push_back(&peer);
  }
  if (over_) return;
  if (generation_ == 0) return DecideFirst(newcomers);
  if (!members) return End(ElasticNotice::kStateLost);
  if (returned.empty()) return Invite(newcomers);
  std::ranges::sort(returned, {}, [](const Peer* peer) {
    return std::pair(peer->word->holds_state == 0, peer->rank);
  });
  DecideNext(returned, newcomers);
}

void Coordinator::DecideFirst(const std::vector<Peer*>& waiting) {
  if (waiting.empty()) return first_wait_.reset();
  if (!first_wait_) first_wait_ = Clock::now();
  const Clock::time_point end = *first_wait_ + Timeout();
  const size_t most = size_t(options_.range.max);
  if (waiting.size() >= size_t(options_.first)) return Form(waiting, most);
  if (Clock::now() < end) {
    next_ = std::min(next_, end);
  } else if (waiting.size() >= size_t(options_.range.min)) {
    Form(waiting, most);
  } else {
    End(ElasticNotice::kTooFew);
  }
}

// Until when those that have not joined again may do so. Where others have given all of them up,
// that is not long: they are dead, or frozen, or just about to come.
Coordinator::Clock::time_point Coordinator::WaitForAbsent(
    const std::vector<Peer*>& returned) const {
  bool absent = false, all_given_up = true;
  for (const Peer& peer : peers_) {
    if (!peer.member() || peer.waits()) continue;
    absent = true;
    all_given_up &= std::ranges::any_of(returned, [&](const Peer* other) {
      return (other->word->lost[size_t(peer.rank) / 64] >> (peer.rank % 64) & 1) != 0;
    });
  }
  if (!absent) return Clock::time_point::min();
  const milliseconds timeout = Timeout();
  const milliseconds grace = std::min(timeout, std::max(timeout / 5, kLeastGrace));
  return all_given_up ? *last_return_ + grace : *first_return_ + timeout;
}

void Coordinator::DecideNext(const std::vector<Peer*>& returned,
                             const std::vector<Peer*>& newcomers) {
  const Clock::time_point now = Clock::now();
  Clock::time_point until = WaitForAbsent(returned);
  std::vector<Peer*> ranks = returned;
  ranks.insert(ranks.end(), newcomers.begin(), newcomers.end());
  const bool enough = ranks.size() >= size_t(options_.range.min);
  if (!enough && options_.more_come && options_.more_come()) {
    until = std::max(until, *first_return_ + Timeout());
  }
  if (now < until) {
    next_ = std::min(next_, until);
  } else if (begun_ && returned[0]->word->holds_state == 0) {
    End(ElasticNotice::kStateLost);
  } else if (enough) {
    const bool may_grow =
        std::ranges::all_of(returned, [](const Peer* peer) { return peer->word->may_grow != 0; });
    Form(std::move(ranks), may_grow ? size_t(options_.range.max) : size_);
  } else {
    End(ElasticNotice::kTooFew);
  }
}

// Newcomers are taken in when all ranks have paused, where there is a place for them.
void Coordinator::Invite(const std::vector<Peer*>& newcomers) {
  if (newcomers.empty()) return;
  const auto members = std::ranges::count_if(peers_, &Peer::member);
  const bool full = members >= options_.range.max;
  for (Peer& peer : peers_) {
    const bool concerned = full ? peer.waits() : peer.member();
    if (!concerned || std::exchange(peer.told, true)) continue;
    Send(peer, {.kind = full ? ElasticNotice::kFull : ElasticNotice::kNewcomers});
  }
}

void Coordinator::Form(std::vector<Peer*> ranks, size_t most) {
  ranks.resize(std::min(ranks.size(), most));
  size_ = ranks.size();
  ++generation_;
  first_return_ = last_return_ = std::nullopt;
  ElasticNotice notice = {
      .kind = ElasticNotice::kFormed, .generation = generation_, .size = int32_t(ranks.size())};
  std::ranges::copy(ranks[0]->word->host, notice.host);
  notice.port = ranks[0]->word->port;
  const auto keeps = [](const Peer* peer) {
    return peer->member() && peer->word->holds_state != 0;
  };
  notice.goes_on = std::ranges::any_of(ranks, keeps);
  begun_ |= notice.goes_on != 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    notice.rank = int32_t(rank);
    notice.keeps_state = keeps(ranks[rank]);
    ranks[rank]->told = false;
    Send(*ranks[rank], notice);
  }
  // A rank that is excluded finds its connection closed, and joins again as a newcomer.
  lost_ += int64_t(
      std::erase_if(peers_, [](const Peer& peer) { return peer.member() && !peer.waits(); }));
  for (Peer& peer : peers_) {
    const auto found = std::ranges::find(ranks, &peer);
    peer.rank = found == ranks.end() ? -1 : int(found - ranks.begin());
    if (peer.member()) peer.word.reset();
  }
  Say(StrCat("generation ", generation_, ": ", ranks.size(), ranks.size() == 1 ? " rank" : " ranks",
             notice.goes_on ? ", which continue from the last whole step" : ""));
}

void Coordinator::End(ElasticNotice::Kind how) {
  if (over_) return;
  over_ = how;
  for (Peer& peer : peers_) {
    if (!peer.waits()) continue;
    Send(peer, {.kind = how});
    peer.word.reset();
  }
}

}  // namespace dtnn
