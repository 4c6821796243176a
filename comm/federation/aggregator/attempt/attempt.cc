#include "comm/federation/aggregator/attempt/attempt.h"

#include <algorithm>
#include <utility>

#include "comm/federation/factors.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using State = Asked::State;

}  // namespace

absl::StatusOr<std::unique_ptr<Attempt>> Attempt::Create(const AttemptOptions& options,
                                                         const Protector& protector,
                                                         const Secret& job, size_t values,
                                                         std::span<const float> parameters,
                                                         std::vector<Asked> asked, Send send) {
  const size_t sum_values = protector.sum_values(values);
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<ServerProtocol> protocol,
                        MakeServerProtocol(protector, {.attempt = options.number,
                                                       .nonce = options.nonce,
                                                       .participants = int(asked.size()),
                                                       .chunks = protector.chunks(sum_values),
                                                       .compression = options.compression,
                                                       .trainable = options.trainable}));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ServerCodec> codec, protocol->MakeCodec());
  const size_t most_message = MostMessageBytes(codec->description());
  // Ciphertexts have their full size, whatever is in them.
  const size_t update_bytes = protector.context() == nullptr
                                  ? sum_values * sizeof(float)
                                  : protector.chunks(sum_values) * most_message;
  std::unique_ptr<Attempt> attempt(
      new Attempt(options, protector, values, std::move(asked), std::move(send),
                  ReceivePlaces::Count(options.receive_bytes, update_bytes)));
  attempt->most_message_ = most_message;
  attempt->asks_ = codec->asks();
  attempt->protocol_ = std::move(protocol);
  attempt->sum_ = std::make_shared<AttemptSum>(
      SumOptions{.attempt = options.number,
                 .max_update_norm = options.max_update_norm,
                 .robust = options.robust,
                 .parameters = parameters,
                 .compression = options.compression,
                 .trainable = options.trainable},
      protector, sum_values, std::make_unique<codec::UpdateServer>(std::move(codec), job));
  return attempt;
}

Attempt::~Attempt() {
  Stop();
  for (const Adding& adding : adding_) adding.added.wait();
  if (made_.valid()) made_.wait();
}

bool Attempt::Waits(int position) const {
  const Asked& asked = asked_[size_t(position)];
  const Place& place = places_[size_t(position)];
  if (place.adding) return true;
  if (place.gone) return false;
  switch (phase_) {
    case Phase::kSetUp:
      return asked.state == State::kWaiting && place.replies <= note_;
    case Phase::kUpdates:
      return asked.state == State::kWaiting;
    case Phase::kReplies:
      return asked.state == State::kAccepted && place.note == note_ && place.replies <= note_;
    case Phase::kAnswers:
      return place.answers < chunks();
    case Phase::kSum:
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
  return false;
}

std::optional<FederationObserver::Step> Attempt::step() const {
  using enum FederationObserver::Step;
  switch (phase_) {
    case Phase::kSetUp:
      return kSetUp;
    case Phase::kUpdates:
      return kUpdates;
    case Phase::kReplies:
    case Phase::kAnswers:
      return kFinish;
    case Phase::kSum:
      return opened_ ? kFinish : kUpdates;  // without notes, a part of that step
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
  return std::nullopt;
}

void Attempt::Enter(Phase phase, Clock::time_point now, std::chrono::milliseconds time) {
  phase_ = phase;
  until_ = now + time;
}

void Attempt::Advance(Clock::time_point now) {
  if (!std::exchange(begun_, true)) {
    const bool notes = protocol_->setup_notes() > 0;
    Enter(notes ? Phase::kSetUp : Phase::kUpdates, now,
          notes ? options_.deadline / 4 : options_.deadline);
  }
  now_ = now;
  if (!over()) TakeAdded();
  if (receive_places_.SomeWait()) DropSlow();
  while (!over()) {
    const Phase phase = phase_;
    const int note = note_;
    const absl::Status status = Step(now, now >= next());
    if (!status.ok()) {
      failure_ = status;
      phase_ = Phase::kFailed;
    }
    if (phase_ == phase && note_ == note) break;
  }
  if (over()) Release();
}

// The attempt may live longer, until its slow clients have answered, without what it held.
void Attempt::Release() {
  Stop();
  for (Place& place : places_) Empty(place);
  sum_.reset();
}

// Those that keep others waiting for too long.
void Attempt::DropSlow() {
  for (int position = 0; position < int(places_.size()); ++position) {
    const Place& place = places_[size_t(position)];
    if (place.adding) continue;
    const std::optional<std::string> why = receive_places_.WhyLost(
        place.receiving, now_, options_.deadline, place.chunks.size(), chunks());
    if (why) LeaveOut(position, *why);
  }
}

absl::Status Attempt::Step(Clock::time_point now, bool late) {
  if (phase_ == Phase::kSum) return WithNames(EndSum(), asked_);
  int waited_for = 0;
  for (int position = 0; position < int(asked_.size()); ++position) {
    if (Waits(position)) {
      if (late && phase_ != Phase::kReplies) {
        LeaveOut(position, phase_ == Phase::kUpdates ? "it had no update at the deadline"
                                                     : "it did not answer in time");
      } else if (!late) {
        ++waited_for;
      }
    }
    if (asked_[size_t(position)].state == State::kLeftOut && protocol_->needs_all()) {
      return FailedPrecondition("client ", asked_[size_t(position)].name, " is missing (",
                                WithNames(asked_[size_t(position)].why, asked_),
                                "), and threshold keys need all clients of a round");
    }
  }
  DTNN_RETURN_IF_ERROR(CheckLeft(asked_, options_.quorum));
  if (waited_for > 0) return absl::OkStatus();
  switch (phase_) {
    case Phase::kSetUp:
      return WithNames(EndSetUp(now), asked_);
    case Phase::kUpdates:
      complete_ = true;
      return confirmed_ ? WithNames(EndUpdates(now), asked_) : absl::OkStatus();
    case Phase::kReplies:
      return WithNames(EndReplies(now), asked_);
    case Phase::kAnswers:
      BeginSum();
      break;
    case Phase::kSum:
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
  return absl::OkStatus();
}

void Attempt::SendNote(int position, const SharedBytes& note) {
  places_[size_t(position)].note = note_;
  send_(position, FrameKind::kNote, uint32_t(note_), note);
}

absl::Status Attempt::EndSetUp(Clock::time_point now) {
  DTNN_ASSIGN_OR_RETURN(const auto notes, protocol_->Note(note_));
  for (int position = 0; position < int(asked_.size()); ++position) {
    const auto note = notes.find(position);
    if (note == notes.end()) {
      LeaveOut(position, "it took no part in the set-up");
    } else if (asked_[size_t(position)].state != State::kLeftOut) {
      SendNote(position, note->second);
    }
  }
  ++note_;
  if (note_ < protocol_->setup_notes()) {
    Enter(Phase::kSetUp, now, options_.deadline / 4);
  } else {
    Enter(Phase::kUpdates, now, options_.deadline);
  }
  return absl::OkStatus();
}

absl::Status Attempt::EndUpdates(Clock::time_point now) {
  for (int position = 0; position < int(asked_.size()); ++position) {
    if (asked_[size_t(position)].state == State::kAccepted) survivors_.insert(position);
  }
  if (protector_->protection() != Protection::kNone) {
    DTNN_RETURN_IF_ERROR(CheckWeightLeft(divisor()));
  } else if (!options_.robust.on()) {
    DTNN_RETURN_IF_ERROR(CheckPlainWeightLeft(divisor(), survivors_.size()));
  }
  DTNN_ASSIGN_OR_RETURN(const SharedBytes note, protocol_->AskSurvivors(survivors_));
  if (note == nullptr) return AddUp(now);
  opened_ = true;
  for (const int position : survivors_) SendNote(position, note);
  Enter(Phase::kReplies, now, options_.deadline / 4);
  return absl::OkStatus();
}

absl::Status Attempt::EndReplies(Clock::time_point now) {
  if (note_ + 1 == protocol_->setup_notes() + protocol_->closing_notes()) {
    BeginSum();
    return absl::OkStatus();
  }
  const auto notes = protocol_->Note(note_ + 1);
  if (!notes.ok()) {
    LeaveOutSilent(Silent());
    return notes.status();
  }
  ++note_;
  for (const auto& [position, note] : *notes) SendNote(position, note);
  Enter(Phase::kReplies, now, options_.deadline / 4);
  return absl::OkStatus();
}

std::vector<int> Attempt::Silent() const {
  std::vector<int> silent;
  for (int position = 0; position < int(asked_.size()); ++position) {
    if (asked_[size_t(position)].state != State::kAccepted) continue;
    if (places_[size_t(position)].replies <= note_) silent.push_back(position);
  }
  return silent;
}

// Where the replies do not suffice, those who have not replied are missing.
void Attempt::LeaveOutSilent(const std::vector<int>& silent) {
  for (const int position : silent) {
    Asked& asked = asked_[size_t(position)];
    asked.state = State::kLeftOut;
    asked.why = places_[size_t(position)].gone ? "it is gone" : "it did not answer in time";
  }
}

// Where it cannot be known who has made a sum unreadable: a client that is among them again and
// again is asked last.
void Attempt::DoubtAll() {
  for (Asked& asked : asked_) asked.disputed = true;
}

// Those who have given wrong shares.
void Attempt::NameLiars() {
  for (const auto& [one, other] : protocol_->disputes()) {
    Asked& asked = asked_[size_t(one)];
    if (one == other) {
      asked.at_fault = true;
      asked.why = "it has given a wrong share of its own secret";
      continue;
    }
    for (const auto& [accused, accuser] : {std::pair(one, other), std::pair(other, one)}) {
      Asked& of = asked_[size_t(accused)];
      if (of.why.empty()) {
        of.why = StrCat("it or client ", accuser, " lies about a share of a secret of the two");
      }
      Accuse(accused, accuser);
    }
  }
}

}  // namespace dtnn::federation
