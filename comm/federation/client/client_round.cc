#include "comm/federation/client/client_round.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "comm/federation/agreed.h"
#include "comm/federation/compression.h"
#include "comm/federation/factors.h"
#include "comm/federation/privacy/privacy.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "tensor/errors.h"
#include "tensor/philox.h"

namespace dtnn::federation {
namespace {

// Notes list what all participants have said.
constexpr size_t kMostNote = 64 << 20, kMostSmall = 4 << 10;

// The clip of a round is the aggregator's choice, within a range.
absl::Status CheckClip(const RoundStart& start, const PrivacyOptions& privacy) {
  if (start.over) return absl::OkStatus();
  if (!privacy.adapts()) {
    if (start.clip == 0) return absl::OkStatus();
    return DataLoss("sends the clip ", start.clip, " of a round, but this client's does not adapt");
  }
  const double least = privacy.clip / kMostClipChange, most = privacy.clip * kMostClipChange;
  if (start.clip >= least && start.clip <= most) return absl::OkStatus();
  return DataLoss("sends the clip ", start.clip, " of a round; of ", privacy.clip,
                  ", with which it begins, it becomes ", least, " to ", most);
}

}  // namespace

absl::StatusOr<ClientRound> ClientRound::Begin(const Frame& frame, Context context) {
  DTNN_ASSIGN_OR_RETURN(RoundStart start, RoundStartFromBytes(frame.body));
  if (start.parameters.encrypted && context.protector.readable()) {
    return DataLoss("sends encrypted parameters, but this client has no key");
  }
  if (start.difference && context.protector.protection() != Protection::kNone) {
    return DataLoss("asks for a difference, but this client protects its updates");
  }
  if (start.control && (context.protector.privacy().on() ||
                        context.protector.protection() == Protection::kSharedKey)) {
    return DataLoss("asks for control variates, but this client protects its updates with ",
                    context.protector.ToString());
  }
  if (start.control && context.options.model.local != Hash{}) {
    return DataLoss("asks for control variates, but this client keeps parameters");
  }
  if (start.compression.on() && context.protector.privacy().on()) {
    return DataLoss("asks for compressed updates, but this client adds noise to its own");
  }
  if (start.compression.owes() && context.options.group) {
    return DataLoss(
        "asks for a part of each update, but this client is an aggregator, which does "
        "not keep the rest");
  }
  DTNN_RETURN_IF_ERROR(CheckClip(start, context.protector.privacy()));
  const int most = MostParticipants(context.protector.options());
  if (start.samples.size() > size_t(most)) {
    return DataLoss("asks ", start.samples.size(), " clients in a round, at most ", most,
                    " are allowed");
  }
  return ClientRound(frame.header.attempt, std::move(start), std::move(context));
}

size_t ClientRound::ParameterChunks() const {
  if (start_.parameters.encrypted) return context_.protector.chunks(values());
  return (values() + kParameterChunk - 1) / kParameterChunk;
}

int ClientRound::together() const {
  return context_.protector.together(int(start_.quorum), int(start_.samples.size()));
}

std::optional<size_t> ClientRound::Allowed(const FrameHeader& header) const {
  if (header.attempt != attempt_) return std::nullopt;
  switch (header.kind) {
    case FrameKind::kParameters:
      if (header.index != chunks_ || chunks_ >= ParameterChunks()) break;
      // A sum has two polynomials of 8 bytes per number, and a header.
      return 16 * std::max(kParameterChunk, context_.protector.chunk_values()) * 2 + kMostSmall;
    case FrameKind::kNote:
      if (protocol_ == nullptr || int64_t{header.index} != notes_) break;
      return kMostNote;
    case FrameKind::kQuestion:
      if (codec_ == nullptr || header.index != answers_) break;
      return MostMessageBytes(codec_->description());
    default:
      break;
  }
  return std::nullopt;
}

absl::Status ClientRound::Take(Frame frame) {
  switch (frame.header.kind) {
    case FrameKind::kParameters:
      parameters_.push_back(std::move(frame.body));
      if (++chunks_ < ParameterChunks()) return absl::OkStatus();
      return Forgo(SetUp(), kSetUpFailed);
    case FrameKind::kNote: {
      const absl::Status taken = TakeNote(frame);
      const std::optional<int> culprit = protocol_->culprit();
      return Forgo(taken, culprit ? kAccuses + uint32_t(*culprit) : kSetUpFailed);
    }
    case FrameKind::kQuestion: {
      ++answers_;
      absl::StatusOr<Bytes> answer = codec_->Answer({attempt_, frame.header.index}, frame.body);
      if (!answer.ok()) return Forgo(answer.status(), kSetUpFailed);
      Send(FrameKind::kAnswer, frame.header.index, *std::move(answer));
      return absl::OkStatus();
    }
    case FrameKind::kVerdict:
      return frame.header.attempt == attempt_ ? TakeVerdict(frame) : absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

absl::StatusOr<Company> ClientRound::FindCompany() const {
  const int64_t told = start_.samples[start_.position], samples = context_.options.samples;
  const bool is_group = context_.options.group != nullptr;
  if (told != samples && !is_group) {
    return FailedPrecondition("the aggregator says that this client has ", told,
                              " samples; it has ", samples);
  }
  const std::vector<int64_t>& all_steps = start_.steps;  // none where they do not count
  if (!all_steps.empty() && all_steps[start_.position] != context_.options.steps) {
    return FailedPrecondition("the aggregator says that this client makes ",
                              all_steps[start_.position], " steps in a round; it makes ",
                              context_.options.steps);
  }
  if (is_group && start_.clients.empty()) {
    return DataLoss("the aggregator does not count the clients of this one");
  }
  Company company = {
      .factors = ClientFactors(start_.weighting, start_.samples, all_steps, start_.clients),
      .quorum = int(start_.quorum),
      .least_clients = context_.options.least_clients};
  // Else it is the aggregator that reads every update, or clients that trust each other.
  if (context_.protector.hides_in_sums()) {
    DTNN_RETURN_IF_ERROR(CheckHidden(company.factors, company.least_clients));
  }
  return company;
}

absl::Status ClientRound::SetUp() {
  if (start_.over) {
    state_ = State::kReady;
    return absl::OkStatus();
  }
  const Protector& protector = context_.protector;
  DTNN_ASSIGN_OR_RETURN(const Company company, FindCompany());
  factor_ = company.factors[start_.position];
  DTNN_RETURN_IF_ERROR(CheckNoise());
  Hash facts{};
  if (protector.hides_in_sums()) {
    DTNN_ASSIGN_OR_RETURN(facts, HashOfRound(start_, context_.nonce, attempt_, parameters_));
  }
  const ClientOptions& options = context_.options;
  DTNN_ASSIGN_OR_RETURN(const Philox rounding,
                        RoundingOf(options.seed, options.name, start_.round));
  DTNN_ASSIGN_OR_RETURN(
      protocol_, MakeClientProtocol(protector,
                                    {.attempt = attempt_,
                                     .nonce = context_.nonce,
                                     .participants = int(start_.samples.size()),
                                     .chunks = protector.chunks(protector.sum_values(values())),
                                     .facts = facts,
                                     .compression = start_.compression,
                                     .trainable = size_t(options.model.trainable),
                                     .rounding = rounding},
                                    int(start_.position), options.key, company));
  if (protocol_->setup_notes() == 0) return GetReady();
  DTNN_ASSIGN_OR_RETURN(Bytes first, protocol_->FirstReply());
  Send(FrameKind::kReply, replies_++, std::move(first));
  return absl::OkStatus();
}

// The first clip is the client's own choice, and larger ones have more noise.
absl::Status ClientRound::CheckNoise() const {
  const Protector& protector = context_.protector;
  const PrivacyOptions& privacy = protector.privacy();
  if (!protector.hides_in_sums() || !privacy.adapts() || start_.clip >= privacy.clip) {
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<float> begin, DecodeParameters());
  const double noise = factor_ * NoiseOfClient(privacy.WithClip(start_.clip), factor_, together());
  if (noise >= LeastNoise(protector, int(start_.samples.size()), factor_, begin)) {
    return absl::OkStatus();
  }
  return FailedPrecondition("the clip ", start_.clip, " of the round makes this client's noise, ",
                            noise, ", smaller than what numbers are rounded to");
}

absl::Status ClientRound::TakeNote(const Frame& frame) {
  const int note = notes_++;
  DTNN_ASSIGN_OR_RETURN(std::optional<Bytes> reply, protocol_->TakeNote(note, frame.body));
  if (reply) Send(FrameKind::kReply, replies_++, *std::move(reply));
  return codec_ == nullptr && notes_ >= protocol_->setup_notes() ? GetReady() : absl::OkStatus();
}

absl::Status ClientRound::GetReady() {
  const int position = int(start_.position);
  DTNN_ASSIGN_OR_RETURN(const Secret job, context_.secret.Derive(kTagPurpose, context_.nonce));
  DTNN_ASSIGN_OR_RETURN(const Secret own, codec::ClientTagKey(job, position));
  DTNN_ASSIGN_OR_RETURN(const Secret server, codec::ServerTagKey(job));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ClientCodec> codec, protocol_->MakeCodec());
  codec_ = std::make_unique<codec::UpdateClient>(std::move(codec), position, own, server);
  if (state_ == State::kSetUp) state_ = State::kReady;
  return absl::OkStatus();
}

absl::Status ClientRound::TakeVerdict(const Frame& frame) {
  DTNN_ASSIGN_OR_RETURN(const Verdict verdict, VerdictFromBytes(frame.body));
  accepted_ = verdict.accepted;
  if (!verdict.accepted && context_.options.warn) {
    context_.options.warn(
        StrCat("round ", start_.round,
               ": the aggregator does not use this client's update: ", verdict.text));
  }
  // It awaits an answer all the same: that nothing more comes.
  Decline("the round is over", kSetUpFailed);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> ClientRound::DecodeParameters() const {
  const ParametersFrom& from = start_.parameters;
  std::vector<float> decoded(values());
  const size_t most = from.encrypted ? context_.protector.chunk_values() : kParameterChunk;
  std::unique_ptr<codec::ClientCodec> codec;
  std::optional<codec::UpdateClient> sums;
  if (from.encrypted) {
    DTNN_ASSIGN_OR_RETURN(codec, codec::CkksClient(context_.protector.context(), int(from.clients),
                                                   *context_.options.key));
    DTNN_ASSIGN_OR_RETURN(const Secret job, context_.secret.Derive(kTagPurpose, from.nonce));
    DTNN_ASSIGN_OR_RETURN(const Secret server, codec::ServerTagKey(job));
    sums.emplace(std::move(codec), 0, Secret(), server);
  } else {
    DTNN_ASSIGN_OR_RETURN(codec, codec::PlainClient(codec::WireType::kFloat32, most));
  }
  for (size_t chunk = 0; chunk * most < decoded.size(); ++chunk) {
    const std::span<float> part =
        std::span(decoded).subspan(chunk * most, std::min(most, decoded.size() - chunk * most));
    const Bytes& body = parameters_[chunk];
    DTNN_RETURN_IF_ERROR(WithContext(from.encrypted
                                         ? sums->Decode({from.attempt, uint32_t(chunk)}, body, part)
                                         : codec->Decode({0, uint32_t(chunk)}, body, part),
                                     "parameters of round ", start_.round));
  }
  if (from.encrypted) {
    for (float& x : decoded) x = float(x / from.divisor);
    if (!std::ranges::all_of(decoded, [](float x) { return std::isfinite(x); })) {
      return DataLoss("parameters of round ", start_.round, " are not finite");
    }
  }
  return decoded;
}

absl::StatusOr<RoundTask> ClientRound::Task() {
  RoundTask task = {.over = start_.over,
                    .round = start_.round,
                    .rounds = start_.rounds,
                    .proximal = start_.proximal,
                    .deadline = start_.deadline,
                    .weighting = start_.weighting,
                    .by_steps = !start_.steps.empty(),
                    .compression = start_.compression,
                    .attempt = {context_.nonce, attempt_},
                    .made_by = {start_.parameters.nonce, start_.parameters.attempt}};
  DTNN_ASSIGN_OR_RETURN(task.parameters, DecodeParameters());
  const auto control = task.parameters.begin() + int64_t(context_.options.model.values);
  task.control.assign(control, task.parameters.end());
  task.parameters.erase(control, task.parameters.end());
  parameters_ = {};
  return task;
}

double ClientRound::ShareOf(Report& report) const {
  const GroupSize told = {.clients = start_.clients[start_.position],
                          .samples = start_.samples[start_.position]};
  report.clients = std::min(report.clients, told.clients);
  report.samples = std::min(report.samples, told.samples);
  return ShareOfGroup(start_.weighting, told,
                      {.clients = report.clients, .samples = report.samples});
}

absl::StatusOr<Bytes> ClientRound::Encode(uint32_t chunk, std::span<const float> values) {
  return codec_->Encode({attempt_, chunk}, values);
}

void ClientRound::Finish(const Report& report) {
  if (std::exchange(state_, State::kAnswered) == State::kAnswered) return;
  Send(FrameKind::kReport, 0, ToBytes(report));
}

void ClientRound::Decline(std::string_view why, uint32_t reason) {
  if (std::exchange(state_, State::kAnswered) == State::kAnswered) return;
  Send(FrameKind::kDecline, reason, TextToBytes(why));
}

absl::Status ClientRound::Forgo(const absl::Status& why, uint32_t reason) {
  if (why.ok()) return why;
  const std::string text(why.message());
  if (context_.options.warn) {
    // A client does not know the names of the others.
    const std::string culprit = reason < kAccuses
                                    ? ""
                                    : StrCat("; the aggregator's log says which is client ",
                                             reason - kAccuses, " of this round");
    context_.options.warn(StrCat("round ", start_.round, ": takes no part: ", text, culprit));
  }
  Decline(text, reason);
  return absl::OkStatus();
}

}  // namespace dtnn::federation
