// What comes from the clients of an attempt.

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "comm/federation/aggregator/attempt/attempt.h"
#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/factors.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using State = Asked::State;

// Bytes of a reply to a note.
constexpr size_t kMostReply = 1 << 20;

}  // namespace

std::optional<size_t> Attempt::Allowed(int position, const FrameHeader& header) {
  Place& place = places_[size_t(position)];
  if (header.attempt != options_.number) return std::nullopt;
  switch (header.kind) {
    case FrameKind::kReply:
      // The last reply of a slow client may come when the attempt is over.
      if (int64_t{header.index} != place.replies ||
          place.replies >= protocol_->setup_notes() + protocol_->closing_notes()) {
        break;
      }
      return kMostReply;
    case FrameKind::kUpdate:
      if (place.reported || header.index != place.chunks.size() || header.index >= chunks()) break;
      if (!options_.robust.on() && asked_[size_t(position)].state == State::kWaiting && !over() &&
          !receive_places_.Take(place.receiving, now_)) {
        return Channel::kLater;
      }
      return most_message_;
    case FrameKind::kReport:
    case FrameKind::kDecline:
      if (place.reported) break;
      return kMostReport;
    case FrameKind::kAnswer:
      if (!asks_ || header.index != place.answers || place.answers >= chunks()) break;
      return most_message_;
    default:
      break;
  }
  return std::nullopt;
}

bool Attempt::HasUpdate(int position) const {
  const State state = asked_[size_t(position)].state;
  return state == State::kAccepted ||
         (state == State::kWaiting && places_[size_t(position)].adding);
}

// What is in a sum cannot be taken out of it. Threshold keys need all until the end.
bool Attempt::IsInSum(int position) const {
  if (options_.robust.on()) return survivors_.contains(position);
  return HasUpdate(position) && (has_all() || !protocol_->needs_all());
}

void Attempt::LeaveOut(int position, const std::string& why) {
  Asked& asked = asked_[size_t(position)];
  if (asked.state == State::kLeftOut) return;
  asked.why = why;
  if (IsInSum(position)) return;
  asked.state = State::kLeftOut;
  Empty(places_[size_t(position)]);
}

// But for how many chunks there were.
void Attempt::Empty(Place& place) {
  for (Bytes& chunk : place.chunks) Free(chunk);
  receive_places_.Release(place.receiving);
}

void Attempt::Lose(int position, const std::string& why) {
  Place& place = places_[size_t(position)];
  place.reported = place.gone = true;
  const bool has_answered = phase_ == Phase::kAnswers && place.answers == chunks();
  const bool is_needed = protocol_->needs_all() && !has_answered;
  if (HasUpdate(position) && !is_needed) return;
  LeaveOut(position, why);
}

void Attempt::Revoke(int position, const std::string& why) {
  if (phase_ == Phase::kFailed) return;
  Lose(position, why);
  Asked& asked = asked_[size_t(position)];
  if (!HasUpdate(position)) return;
  asked.why = why;
  if (opened_) return;
  asked.state = State::kLeftOut;
  failure_ = FailedPrecondition("the update of client ", asked.name, " must not be used: ", why);
  Stop();
  if (phase_ == Phase::kSum) return;  // it fails once that has ended
  phase_ = Phase::kFailed;
  Release();
  Forget();
}

void Attempt::Take(int position, Frame frame) {
  if (has_all()) {
    Count(places_[size_t(position)], frame.header.kind);
    return;
  }
  const absl::Status taken = TakeFrame(position, frame);
  if (taken.ok()) return;
  asked_[size_t(position)].at_fault = true;
  LeaveOut(position, std::string(taken.message()));
}

void Attempt::Count(Place& place, FrameKind kind) {
  place.replies += kind == FrameKind::kReply ? 1 : 0;
  place.answers += kind == FrameKind::kAnswer ? 1 : 0;
  place.reported |= kind == FrameKind::kReport || kind == FrameKind::kDecline;
  if (kind == FrameKind::kUpdate) place.chunks.emplace_back();
}

absl::Status Attempt::TakeFrame(int position, Frame& frame) {
  Place& place = places_[size_t(position)];
  Asked& asked = asked_[size_t(position)];
  const uint32_t index = frame.header.index;
  switch (frame.header.kind) {
    case FrameKind::kReply:
      ++place.replies;
      if (asked.state == State::kLeftOut) return absl::OkStatus();
      // Too late; the sum may do without it.
      if (phase_ == Phase::kReplies && int(index) < note_) return absl::OkStatus();
      if (int(index) != note_ || (phase_ != Phase::kSetUp && phase_ != Phase::kReplies)) {
        return FailedPrecondition("replies to note ", index, " before it was sent");
      }
      return protocol_->TakeReply(int(index), position, frame.body);
    case FrameKind::kUpdate:
      // The chunks of a client that is left out are counted, not kept.
      place.chunks.push_back(asked.state == State::kWaiting ? std::move(frame.body) : Bytes());
      place.receiving.heard = now_;
      return absl::OkStatus();
    case FrameKind::kDecline:
      place.reported = true;
      return TakeDecline(position, frame);
    case FrameKind::kReport:
      place.reported = true;
      return asked.state == State::kWaiting ? TakeReport(position, frame.body) : absl::OkStatus();
    case FrameKind::kAnswer:
      ++place.answers;
      if (asked.state == State::kLeftOut) return absl::OkStatus();
      if (phase_ != Phase::kAnswers) return FailedPrecondition("answers what nobody has asked");
      return sum_->AddAnswer(index, position, frame.body);
    default:
      return absl::OkStatus();
  }
}

// A client whose set-up fails is not to blame, nor is the client that it accuses: that takes more
// accusers than the sum could lose anyway, and never one alone.
absl::Status Attempt::TakeDecline(int position, const Frame& frame) {
  const std::string why = TextFromBytes(frame.body);
  const uint32_t reason = frame.header.index;
  if (reason == kOwnFault) return absl::CancelledError(StrCat("it has no update: ", why));
  LeaveOut(position, StrCat("it cannot take part in the sum: ", why));
  if (reason < kAccuses || reason - kAccuses >= asked_.size()) return absl::OkStatus();
  const int accused = int(reason - kAccuses);
  if (accused != position) Accuse(accused, position);
  return absl::OkStatus();
}

void Attempt::Accuse(int accused, int accuser) {
  std::set<int>& accusers = accusers_[accused];
  accusers.insert(accuser);
  asked_[size_t(accused)].disputed = true;
  if (int(accusers.size()) <= std::max(1, protocol_->spare())) return;
  asked_[size_t(accused)].at_fault = true;
  LeaveOut(accused, StrCat("what is between it and ", accusers.size(), " other clients is wrong"));
}

absl::Status Attempt::TakeReport(int position, std::span<const uint8_t> body) {
  Asked& asked = asked_[size_t(position)];
  DTNN_ASSIGN_OR_RETURN(asked.report, ReportFromBytes(body));
  DTNN_RETURN_IF_ERROR(FitFactor(asked));
  return BeginToAdd(position);
}

// An aggregator may have lost clients since it said how many it has, but counts for no more.
absl::Status Attempt::FitFactor(Asked& asked) const {
  const Report& report = asked.report;
  if (asked.clients == 0) {
    if (report.clients == 0) return absl::OkStatus();
    return DataLoss("reports a mean of ", report.clients,
                    " clients, but has not come as an aggregator");
  }
  if (report.clients < 1 || report.clients > asked.clients || report.samples > asked.samples) {
    return DataLoss("reports a mean of ", report.clients, " clients with ", report.samples,
                    " samples; before the round it had ", asked.clients, " with ", asked.samples);
  }
  const double share =
      ShareOfGroup(options_.weighting, {.clients = asked.clients, .samples = asked.samples},
                   {.clients = report.clients, .samples = report.samples});
  // Else one that has claimed to be huge takes the weight of all others with it.
  if (share < kLeastPlainWeight) {
    return DataLoss("reports a mean of ", report.samples, " samples; before the round it had ",
                    asked.samples);
  }
  asked.factor *= share;
  return absl::OkStatus();
}

absl::Status Attempt::BeginToAdd(int position) {
  if (phase_ != Phase::kUpdates) {
    return FailedPrecondition("reports before it could have trained");
  }
  Place& place = places_[size_t(position)];
  place.adding = true;
  const auto work = std::make_shared<std::packaged_task<absl::Status()>>(
      [position, sum = sum_, factor = asked_[size_t(position)].factor,
       chunks = std::exchange(place.chunks, {}), stop = stop_.get_token()]() mutable {
        if (stop.stop_requested()) return absl::CancelledError("nobody needs the sum");
        return sum->Add(position, factor, std::move(chunks));
      });
  adding_.push_back({.position = position, .added = work->get_future()});
  Do([work] { (*work)(); });
  return absl::OkStatus();
}

// In the order in which their updates became complete.
void Attempt::TakeAdded() {
  while (!adding_.empty() &&
         adding_.front().added.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    const int position = adding_.front().position;
    const absl::Status added = adding_.front().added.get();
    adding_.pop_front();
    Place& place = places_[size_t(position)];
    Asked& asked = asked_[size_t(position)];
    place.adding = false;
    Empty(place);
    if (asked.state == State::kLeftOut) continue;
    if (added.ok()) {
      asked.state = State::kAccepted;
    } else {
      asked.at_fault = true;
      LeaveOut(position, std::string(added.message()));
    }
  }
}

void Attempt::Do(std::function<void()> work) const {
  if (options_.run) {
    options_.run(std::move(work));
  } else {
    work();
  }
}

}  // namespace dtnn::federation
