#include "comm/federation/aggregator/attempt.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/federation/hidden_metrics.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// The clients of a sum have at least this weight, relative to the largest that was asked.
constexpr double kLeastWeight = 1.0 / 16;
// Bytes of a reply to a note, and of a report.
constexpr size_t kMostReply = 1 << 20, kMostReport = 8 << 10;
// No network has numbers beyond this, and squares of them must stay float32 (fedadam).
constexpr double kLargestNumber = 1e12;

bool AreNumbersOfNetworks(std::span<const float> values, double divisor) {
  return std::ranges::all_of(
      values, [divisor](float x) { return std::abs(x / divisor) <= kLargestNumber; });
}

// Assigning {} would keep the memory.
template <typename T>
void Free(std::vector<T>& values) {
  values = std::vector<T>();
}

using State = Asked::State;

}  // namespace

absl::StatusOr<std::unique_ptr<Attempt>> Attempt::Create(const AttemptOptions& options,
                                                         const Protector& protector,
                                                         const Secret& job, size_t values,
                                                         std::span<const float> parameters,
                                                         std::vector<Asked> asked, Send send) {
  std::unique_ptr<Attempt> attempt(
      new Attempt(options, protector, values, parameters, std::move(asked), std::move(send)));
  DTNN_ASSIGN_OR_RETURN(attempt->protocol_,
                        MakeServerProtocol(protector, {.attempt = options.number,
                                                       .nonce = options.nonce,
                                                       .participants = int(attempt->asked_.size()),
                                                       .chunks = attempt->chunks()}));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ServerCodec> codec, attempt->protocol_->MakeCodec());
  attempt->codec_ = std::make_unique<codec::UpdateServer>(std::move(codec), job);
  return attempt;
}

size_t Attempt::ChunkSize(size_t chunk) const {
  const size_t most = protector_->chunk_values();
  return std::min(most, sum_values_ - chunk * most);
}

std::span<float> Attempt::ChunkOf(std::vector<float>& values, size_t chunk) const {
  return std::span(values).subspan(chunk * protector_->chunk_values(), ChunkSize(chunk));
}

std::optional<size_t> Attempt::Allowed(int position, const FrameHeader& header) const {
  const Place& place = places_[size_t(position)];
  if (header.attempt != options_.number) return std::nullopt;
  switch (header.kind) {
    case FrameKind::kReply:
      // The last reply of a slow client may come when the attempt is over.
      if (int64_t{header.index} != place.replies || place.replies > protocol_->setup_notes()) break;
      return kMostReply;
    case FrameKind::kUpdate:
      if (place.reported || header.index != place.chunks.size() || header.index >= chunks()) break;
      return MostMessageBytes(codec_->description());
    case FrameKind::kReport:
    case FrameKind::kDecline:
      if (place.reported) break;
      return kMostReport;
    case FrameKind::kAnswer:
      if (!codec_->asks() || header.index != place.answers || place.answers >= chunks()) break;
      return MostMessageBytes(codec_->description());
    default:
      break;
  }
  return std::nullopt;
}

bool Attempt::Waits(int position) const {
  const Asked& asked = asked_[size_t(position)];
  const Place& place = places_[size_t(position)];
  if (place.gone) return false;
  switch (phase_) {
    case Phase::kSetUp:
      return asked.state == State::kWaiting && place.replies <= note_;
    case Phase::kUpdates:
      return asked.state == State::kWaiting;
    case Phase::kReplies:
      return asked.state == State::kAccepted && place.replies <= note_;
    case Phase::kAnswers:
      return place.answers < chunks();
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
  return false;
}

void Attempt::LeaveOut(int position, const std::string& why) {
  Asked& asked = asked_[size_t(position)];
  if (asked.state == State::kLeftOut) return;
  asked.why = why;
  // What is in a sum cannot be taken out of it; threshold keys need all until the end.
  const bool added = survivors_.contains(position) && (over() || !protocol_->needs_all());
  if (added) return;
  asked.state = State::kLeftOut;
  Empty(places_[size_t(position)]);
}

// But for how many chunks there were.
void Attempt::Empty(Place& place) {
  for (Bytes& chunk : place.chunks) Free(chunk);
  Free(place.values);
}

void Attempt::Lose(int position, const std::string& why) {
  Place& place = places_[size_t(position)];
  place.reported = place.gone = true;
  if (asked_[size_t(position)].state == State::kAccepted && !protocol_->needs_all()) return;
  LeaveOut(position, why);
}

void Attempt::Take(int position, Frame frame) {
  if (over()) {
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
      if (int(index) != note_ || (phase_ != Phase::kSetUp && phase_ != Phase::kReplies)) {
        return FailedPrecondition("replies to note ", index, " before it was sent");
      }
      return protocol_->TakeReply(int(index), position, frame.body);
    case FrameKind::kUpdate:
      // The chunks of a client that is left out are counted, not kept.
      place.chunks.push_back(asked.state == State::kWaiting ? std::move(frame.body) : Bytes());
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
      return sums_[index].AddAnswer(position, frame.body);
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
  DTNN_RETURN_IF_ERROR(Inspect(position));
  asked.state = State::kAccepted;
  return absl::OkStatus();
}

// Whether the update can be added: of plain ones every number, of others their form.
absl::Status Attempt::Inspect(int position) {
  if (phase_ != Phase::kUpdates) {
    return FailedPrecondition("reports before it could have trained");
  }
  Place& place = places_[size_t(position)];
  if (place.chunks.size() != chunks()) {
    return DataLoss("sent ", place.chunks.size(), " chunks of an update, expected ", chunks());
  }
  const bool plain = protector_->protection() == Protection::kNone;
  if (plain) place.values.resize(values_);
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum, codec_->NewSum(IdOf(chunk), ChunkSize(chunk)));
    DTNN_RETURN_IF_ERROR(sum.Add(position, place.chunks[chunk]));
    if (plain) DTNN_RETURN_IF_ERROR(sum.Read(ChunkOf(place.values, chunk)));
  }
  if (!plain) return absl::OkStatus();
  for (Bytes& chunk : place.chunks) Free(chunk);
  DTNN_RETURN_IF_ERROR(CheckNumbers(position));
  return CheckNorm(position);
}

absl::Status Attempt::CheckNumbers(int position) const {
  if (AreNumbersOfNetworks(places_[size_t(position)].values, asked_[size_t(position)].factor)) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(StrCat("its update has numbers beyond ", kLargestNumber));
}

absl::Status Attempt::CheckNorm(int position) const {
  if (options_.max_update_norm <= 0 || parameters_.size() != values_) return absl::OkStatus();
  const std::vector<float>& values = places_[size_t(position)].values;
  const double factor = asked_[size_t(position)].factor;
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double d = values[i] / factor - parameters_[i];
    squares += d * d;
  }
  const double norm = std::sqrt(squares);
  if (norm <= options_.max_update_norm) return absl::OkStatus();  // false for NaN
  return absl::OutOfRangeError(StrCat("its update has the norm ", norm, ", more than the ",
                                      options_.max_update_norm, " that are allowed"));
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
  while (!over()) {
    const Phase phase = phase_;
    const int note = note_;
    const absl::Status status = Step(now, now >= until_);
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
  for (Place& place : places_) Empty(place);
  sums_.clear();
}

absl::Status Attempt::Step(Clock::time_point now, bool late) {
  int waited_for = 0, left = 0;
  for (int position = 0; position < int(asked_.size()); ++position) {
    if (Waits(position)) {
      if (late && phase_ != Phase::kReplies) {
        LeaveOut(position, phase_ == Phase::kUpdates ? "it had no update at the deadline"
                                                     : "it did not answer in time");
      } else if (!late) {
        ++waited_for;
      }
    }
    if (asked_[size_t(position)].state != State::kLeftOut) {
      ++left;
    } else if (protocol_->needs_all()) {
      return FailedPrecondition("client ", asked_[size_t(position)].name, " is missing (",
                                asked_[size_t(position)].why,
                                "), and threshold keys need all clients of a round");
    }
  }
  if (left < options_.quorum) {
    return FailedPrecondition("only ", left, " of ", asked_.size(), " clients are left, and ",
                              options_.quorum, " are needed");
  }
  if (waited_for > 0) return absl::OkStatus();
  switch (phase_) {
    case Phase::kSetUp:
      return EndSetUp(now);
    case Phase::kUpdates:
      return EndUpdates(now);
    case Phase::kReplies:
      DTNN_RETURN_IF_ERROR(FinishReplies());
      return AddUp(now);
    case Phase::kAnswers:
      DTNN_RETURN_IF_ERROR(ReadSums());
      phase_ = Phase::kDone;
      break;
    case Phase::kDone:
    case Phase::kFailed:
      break;
  }
  return absl::OkStatus();
}

absl::Status Attempt::EndSetUp(Clock::time_point now) {
  DTNN_ASSIGN_OR_RETURN(const auto notes, protocol_->Note(note_));
  for (int position = 0; position < int(asked_.size()); ++position) {
    const auto note = notes.find(position);
    if (note == notes.end()) {
      LeaveOut(position, "it took no part in the set-up");
    } else if (asked_[size_t(position)].state != State::kLeftOut) {
      send_(position, FrameKind::kNote, uint32_t(note_), note->second);
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
  // Sums that are hidden have a fixed number of bits, in proportion to the largest weight.
  if (protector_->protection() != Protection::kNone && divisor() < kLeastWeight) {
    return FailedPrecondition("the clients that are left have ", divisor(),
                              " of the weight of the largest one that was asked: rounding would ",
                              "drown their mean");
  }
  DTNN_ASSIGN_OR_RETURN(const SharedBytes note, protocol_->AskSurvivors(survivors_));
  if (note == nullptr) return AddUp(now);
  opened_ = true;
  for (const int position : survivors_) send_(position, FrameKind::kNote, uint32_t(note_), note);
  Enter(Phase::kReplies, now, options_.deadline / 4);
  return absl::OkStatus();
}

// Where it fails, those who have not replied are missing; those who have, and lied, are named
// either way.
absl::Status Attempt::FinishReplies() {
  const absl::Status finished = protocol_->FinishReplies();
  for (int position = 0; !finished.ok() && position < int(asked_.size()); ++position) {
    const Place& place = places_[size_t(position)];
    Asked& asked = asked_[size_t(position)];
    if (place.replies > note_ || asked.state != State::kAccepted) continue;
    asked.state = State::kLeftOut;
    asked.why = place.gone ? "it is gone" : "it did not answer in time";
  }
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
        of.why = StrCat("it or client ", asked_[size_t(accuser)].name,
                        " lies about a share of a secret of the two");
      }
      Accuse(accused, accuser);
    }
  }
  return finished;
}

absl::Status Attempt::AverageOfPlain() {
  std::vector<double> total(values_);
  for (const int position : survivors_) {
    const std::vector<float>& values = places_[size_t(position)].values;
    for (size_t i = 0; i < values_; ++i) total[i] += values[i];
  }
  average_.resize(values_);
  const double all = divisor();
  for (size_t i = 0; i < values_; ++i) average_[i] = float(total[i] / all);
  return absl::OkStatus();
}

// All updates are there, and nothing hides their sum but encryption.
absl::Status Attempt::AddUp(Clock::time_point now) {
  phase_ = Phase::kDone;
  if (protector_->protection() == Protection::kNone) return AverageOfPlain();
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum, codec_->NewSum(IdOf(chunk), ChunkSize(chunk)));
    for (const int position : survivors_) {
      Bytes& message = places_[size_t(position)].chunks[chunk];
      DTNN_RETURN_IF_ERROR(sum.Add(position, message));
      Free(message);
    }
    sums_.push_back(std::move(sum));
  }
  if (codec_->asks()) {
    opened_ = true;
    for (size_t chunk = 0; chunk < chunks(); ++chunk) {
      DTNN_ASSIGN_OR_RETURN(Bytes question, sums_[chunk].Question());
      const SharedBytes body = std::make_shared<const Bytes>(std::move(question));
      for (int position = 0; position < int(asked_.size()); ++position) {
        send_(position, FrameKind::kQuestion, uint32_t(chunk), body);
      }
    }
    Enter(Phase::kAnswers, now, options_.deadline);
    return absl::OkStatus();
  }
  if (protector_->readable()) return ReadSums();
  for (codec::UpdateSum& sum : sums_) {
    DTNN_ASSIGN_OR_RETURN(Bytes result, sum.Result());
    encrypted_.push_back(std::move(result));
  }
  return absl::OkStatus();
}

// From the last numbers of the mean. Clients that name other metrics than the first one have made
// numbers whose mean nobody can read.
void Attempt::TakeMetrics() {
  const std::span<const float> mean = std::span(average_).subspan(values_);
  const Metrics* names = nullptr;
  bool alike = true;
  for (const int position : survivors_) {
    const Metrics& own = asked_[size_t(position)].report.metrics;
    if (names == nullptr) names = &own;
    alike = alike && std::ranges::equal(own, *names, {}, &Metrics::value_type::first,
                                        &Metrics::value_type::first);
  }
  if (names != nullptr && alike && !mean.empty()) metrics_ = MetricsOfMean(*names, mean);
  for (Asked& asked : asked_) asked.report.metrics.clear();
  average_.resize(values_);
}

absl::Status Attempt::ReadSums() {
  average_.resize(sum_values_);
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    const absl::Status read = sums_[chunk].Read(ChunkOf(average_, chunk));
    // Which part of a decryption is wrong cannot be known: a client that is among them again and
    // again is asked last.
    for (Asked& asked : asked_) asked.disputed |= !read.ok();
    DTNN_RETURN_IF_ERROR(read);
  }
  const double divisor = this->divisor();
  for (float& x : average_) x = float(x / divisor);
  TakeMetrics();
  if (AreNumbersOfNetworks(average_, 1)) return absl::OkStatus();
  return absl::DataLossError("the mean is not that of a network");
}

void Attempt::Forget() {
  Free(average_);
  Free(encrypted_);
}

double Attempt::divisor() const {
  double sum = 0;
  for (const int position : survivors_) sum += asked_[size_t(position)].factor;
  return sum;
}

}  // namespace dtnn::federation
