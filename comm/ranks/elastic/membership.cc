#include "comm/ranks/elastic/membership.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "comm/transport/tcp/dial.h"
#include "comm/transport/tcp/own_listener.h"
#include "comm/transport/tcp/rendezvous.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// How long a coordinator that lives may be silent: it speaks every five seconds.
constexpr milliseconds kSilence(30'000);
// Generations whose ranks did not all reach each other, one after another.
constexpr int kMostAttempts = 5;

}  // namespace

Membership::Membership(const MembershipOptions& options, const JobSecret& secret,
                       const CommunicatorOptions& patience)
    : options_(options), secret_(secret), patience_(patience) {}

absl::Status Membership::Enter() {
  Wait wait(patience_);
  DTNN_ASSIGN_OR_RETURN(Link link, Dial({.address = options_.coordinator,
                                         .stream = options_.stream,
                                         .purpose = kCoordinatorPurpose,
                                         .who = "this process",
                                         .door = "the coordinator of the ranks"},
                                        secret_, wait));
  stream_ = std::move(link.stream);
  in_.clear();
  return absl::OkStatus();
}

Wait::Text Membership::WaitsFor(std::string_view what) const {
  return {.who = "this process",
          .what = StrCat("the coordinator of the ranks, at ", options_.coordinator.ToString(), ", ",
                         what)};
}

absl::Status Membership::Write(std::string_view bytes) {
  Wait wait(patience_);
  return wait.For([this] { return WaitsFor("to read"); },
                  [&](Clock::time_point until) -> absl::StatusOr<bool> {
                    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
                    DTNN_ASSIGN_OR_RETURN(const size_t n, stream_->Write({&range, 1}));
                    bytes.remove_prefix(n);
                    pollfd descriptor = {stream_->descriptor(), POLLIN | POLLOUT, 0};
                    if (n == 0) PollUntil({&descriptor, 1}, until);
                    return bytes.empty();
                  });
}

absl::Status Membership::Join(const RankFacts& facts) {
  // Before anybody hears of it.
  Socket borrowed(stream_->descriptor());
  absl::StatusOr<OwnListener> own = ListenBeside(borrowed, options_.coordinator);
  borrowed.Release();
  DTNN_RETURN_IF_ERROR(own.status());
  listener_ = std::move(own->socket);
  const Endpoint& mine = own->endpoint;
  ElasticWord word = {.kind = ElasticWord::kJoin,
                      .timeout_ms = patience_.timeout.count(),
                      .port = mine.port,
                      .holds_state = facts.holds_state,
                      .may_grow = facts.may_grow};
  mine.host.copy(word.host, sizeof(word.host) - 1);
  for (const int rank : facts.lost) word.lost[size_t(rank) / 64] |= uint64_t{1} << (rank % 64);
  return Write(BytesOfMessage(word));
}

absl::StatusOr<std::optional<ElasticNotice>> Membership::Read() {
  std::array<std::byte, sizeof(ElasticNotice)> bytes;
  while (in_.size() < sizeof(ElasticNotice)) {
    DTNN_ASSIGN_OR_RETURN(
        const size_t n, stream_->Read(std::span(bytes).first(sizeof(ElasticNotice) - in_.size())));
    if (n == 0) return std::nullopt;
    in_.append(reinterpret_cast<const char*>(bytes.data()), n);
  }
  ElasticNotice notice;
  if (!ReadMessage(std::exchange(in_, ""), notice)) {
    return Unavailable("the coordinator sent bytes that are not a message");
  }
  return notice;
}

absl::StatusOr<ElasticNotice> Membership::AwaitPlace() {
  while (true) {
    CommunicatorOptions silence = patience_;
    silence.timeout += kSilence;
    silence.warn = nullptr;  // newcomers wait for hours
    Wait wait(silence);
    std::optional<ElasticNotice> notice;
    DTNN_RETURN_IF_ERROR(wait.For([this] { return WaitsFor("to say what place it has"); },
                                  [&](Clock::time_point until) -> absl::StatusOr<bool> {
                                    DTNN_ASSIGN_OR_RETURN(notice, Read());
                                    pollfd descriptor = {stream_->descriptor(), POLLIN, 0};
                                    if (!notice) PollUntil({&descriptor, 1}, until);
                                    return notice.has_value();
                                  }));
    switch (notice->kind) {
      case ElasticNotice::kAlive:
      case ElasticNotice::kNewcomers:  // of the generation before
      case ElasticNotice::kBroken:
        break;
      case ElasticNotice::kFull:
        if (patience_.warn) {
          patience_.warn(StrCat("the run has the ", notice->max,
                                " ranks that it may have at most; this process waits until one "
                                "of them is lost, or the run ends"));
        }
        break;
      case ElasticNotice::kFormed:
      case ElasticNotice::kEnded:
        return *notice;
      default:
        return ErrorOf(notice->kind, {.min = notice->min, .max = notice->max});
    }
  }
}

// By a secret that is this generation's alone: messages of older ones are refused.
absl::StatusOr<Mesh> Membership::MeetOthers(const ElasticNotice& place) {
  if (place.size < 1 || place.size > ElasticRange::kMost || place.rank < 0 ||
      place.rank >= place.size) {
    return absl::InternalError("the coordinator names an impossible place");
  }
  DTNN_ASSIGN_OR_RETURN(const JobSecret own,
                        secret_.For(StrCat("elastic generation ", place.generation)));
  CommunicatorOptions patience = patience_;
  patience.interrupted = [this] {
    if (Interrupted()) return true;
    TakeNotices();
    return broken_;
  };
  const Endpoint told = {.host = place.host, .port = place.port};
  return Meet({.rank = place.rank,
               .size = place.size,
               .address = EndpointFor(told, options_.coordinator),
               .listener = place.rank == 0 ? listener_.Release() : -1,
               .stream = options_.stream,
               .share_memory = options_.share_memory},
              own, patience);
}

absl::StatusOr<ElasticNotice> Membership::AskForPlace(const RankFacts& facts) {
  for (bool again = stream_ != nullptr;; again = false) {
    if (stream_ == nullptr) DTNN_RETURN_IF_ERROR(Enter());
    const absl::Status joined = Join(facts);
    absl::StatusOr<ElasticNotice> place = joined.ok() ? AwaitPlace() : joined;
    const bool closed = absl::IsUnavailable(place.status()) || absl::IsOutOfRange(place.status());
    if (closed) stream_ = nullptr;
    // A rank that was left out finds its connection closed, and comes as a newcomer.
    if (closed && again && !Interrupted()) continue;
    if (!absl::IsOutOfRange(place.status())) return place;
    return Unavailable("the coordinator of the ranks, at ", options_.coordinator.ToString(),
                       ", is gone");
  }
}

absl::StatusOr<std::optional<Formation>> Membership::Form(RankFacts facts) {
  absl::Status status;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    DTNN_ASSIGN_OR_RETURN(const ElasticNotice place, AskForPlace(facts));
    if (place.kind == ElasticNotice::kEnded) return std::nullopt;
    generation_ = place.generation;
    newcomers_ = broken_ = false;
    absl::StatusOr<Mesh> mesh = MeetOthers(place);
    listener_ = Socket();
    if (mesh.ok()) {
      return Formation{.number = place.generation,
                       .keeps_state = place.keeps_state != 0,
                       .goes_on = place.goes_on != 0,
                       .mesh = *std::move(mesh)};
    }
    status = mesh.status();
    if (Interrupted()) return status;
    // One of them was lost meanwhile. The answer about this rank's state still holds.
    facts.holds_state = facts.holds_state && place.keeps_state != 0;
    facts.lost.clear();
  }
  return status;
}

void Membership::TakeNotices() {
  while (stream_ != nullptr) {
    const absl::StatusOr<std::optional<ElasticNotice>> notice = Read();
    if (!notice.ok()) {
      stream_ = nullptr;  // the next Form tries again
    } else if (!notice->has_value()) {
      return;
    } else if ((*notice)->generation == generation_) {
      newcomers_ |= (*notice)->kind == ElasticNotice::kNewcomers;
      broken_ |= (*notice)->kind == ElasticNotice::kBroken;
    }
  }
}

bool Membership::newcomers_wait() {
  TakeNotices();
  return newcomers_;
}

void Membership::Finish(bool complete) {
  if (stream_ == nullptr) return;
  const ElasticWord word = {.kind = complete ? ElasticWord::kDone : ElasticWord::kStopped};
  Write(BytesOfMessage(word)).IgnoreError();
  stream_->CloseWriting();
}

}  // namespace dtnn
