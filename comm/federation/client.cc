#include "comm/federation/client.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/codec/encrypted_codec.h"
#include "comm/codec/plain_codec.h"
#include "comm/crypto/hash.h"
#include "comm/federation/agreed.h"
#include "comm/federation/factors.h"
#include "comm/federation/hidden_metrics.h"
#include "comm/patience.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestSleep(100);
// Notes list what all participants have said.
constexpr size_t kMostNote = 64 << 20, kMostSmall = 4 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<FederationClient>> FederationClient::Create(
    const ClientOptions& options, const JobSecret& secret) {
  DTNN_RETURN_IF_ERROR(CheckClientName(options.name));
  if (options.samples < 1) return absl::InvalidArgumentError("a client needs samples to train on");
  if (options.timeout.count() < 1) return absl::InvalidArgumentError("a client needs a timeout");
  if (!(options.least_clients >= 1 && options.least_clients <= kMostParticipants)) {
    return InvalidArgument("sums of at least ", options.least_clients, " clients: expected 1 to ",
                           kMostParticipants);
  }
  const Protection protection = options.protection.protection;
  if (options.key ? protection == Protection::kNone : protection == Protection::kSharedKey) {
    return absl::InvalidArgumentError(
        "clients need a key where they encrypt with it, and have none without encryption");
  }
  DTNN_ASSIGN_OR_RETURN(Protector protector,
                        Protector::Create(options.protection, size_t(options.model.values)));
  return std::unique_ptr<FederationClient>(
      new FederationClient(options, secret, std::move(protector)));
}

absl::Status FederationClient::Sleep(Clock::time_point until) {
  DTNN_RETURN_IF_ERROR(call_.CheckInterrupt());
  pollfd descriptor = {channel_->descriptor(), channel_->events(), 0};
  PollUntil({&descriptor, 1}, std::min(until, Clock::now() + kLongestSleep));
  return call_.CheckInterrupt();
}

// Until it is welcome, or refused.
absl::Status FederationClient::AwaitWelcome() {
  KeyName key_id{};
  if (options_.key) {
    DTNN_ASSIGN_OR_RETURN(const Secret id,
                          DeriveSecret(*options_.key, "DTNN federation: name of the key"));
    std::copy_n(id.bytes().begin(), key_id.size(), key_id.begin());
  }
  DTNN_ASSIGN_OR_RETURN(const Hash class_names, HashOfNames(options_.class_names));
  welcomed_ = false;
  channel_->Send(FrameKind::kHello, 0, 0,
                 ToBytes(Hello{.name = options_.name,
                               .model = options_.model,
                               .samples = options_.samples,
                               .protection = protector_.ToString(),
                               .key = key_id,
                               .class_names = class_names}));
  return AwaitAnswer(call_, *channel_, [this]() -> absl::StatusOr<bool> {
    DTNN_RETURN_IF_ERROR(TakeFrames());
    return welcomed_;
  });
}

absl::Status FederationClient::Introduce(Link link) {
  channel_ = std::make_unique<Channel>(std::move(link.stream), link.address);
  heard_ = Clock::now();
  const absl::Status status = AwaitWelcome();
  if (!status.ok()) Close();
  return status;
}

absl::Status FederationClient::Connect() {
  return CallUntilDone(call_, secret_, [this](Link link) { return Introduce(std::move(link)); });
}

void FederationClient::Close() {
  if (channel_ == nullptr) return;
  sent_ += channel_->bytes_sent();
  received_ += channel_->bytes_received();
  channel_.reset();
}

void FederationClient::Disconnect(const absl::Status& why) {
  if (channel_ == nullptr) return;
  Close();
  round_.reset();
  welcomed_ = false;
  if (options_.warn) {
    options_.warn(StrCat("lost the aggregator at ", options_.place.address.ToString(), ": ",
                         why.message(), "; calls again"));
  }
}

absl::Status FederationClient::Survive(const absl::Status& status) {
  if (status.ok() || !IsOfConnection(status)) return status;
  Disconnect(status);
  return absl::OkStatus();
}

size_t FederationClient::ParameterChunks(const RoundStart& start) const {
  const size_t values = size_t(options_.model.values);
  if (start.parameters.encrypted) return protector_.chunks(values);
  return (values + kParameterChunk - 1) / kParameterChunk;
}

std::optional<size_t> FederationClient::Allowed(const FrameHeader& header) const {
  switch (header.kind) {
    case FrameKind::kWelcome:
      if (!welcomed_) return kMostSmall;
      break;
    case FrameKind::kRefusal:
    case FrameKind::kAlive:
    case FrameKind::kVerdict:
      return kMostSmall;
    case FrameKind::kRound:
      if (welcomed_) return kMostSmall;
      break;
    case FrameKind::kParameters:
      if (!round_ || header.attempt != round_->attempt || round_->ready ||
          header.index != round_->parameters.size() ||
          header.index >= ParameterChunks(round_->start)) {
        break;
      }
      // A sum has two polynomials of 8 bytes per number, and a header.
      return 16 * std::max(kParameterChunk, protector_.chunk_values()) * 2 + kMostSmall;
    case FrameKind::kNote:
      if (round_ && round_->protocol != nullptr && header.attempt == round_->attempt &&
          int64_t{header.index} == round_->notes) {
        return kMostNote;
      }
      break;
    case FrameKind::kQuestion:
      if (round_ && round_->codec && header.attempt == round_->attempt &&
          header.index == round_->answers) {
        return MostMessageBytes(round_->codec->description());
      }
      break;
    default:
      break;
  }
  return std::nullopt;
}

absl::Status FederationClient::TakeFrames(bool all) {
  const auto allowed = [this](const FrameHeader& header) { return Allowed(header); };
  while (channel_ != nullptr) {
    DTNN_ASSIGN_OR_RETURN(std::optional<Frame> frame, channel_->Receive(allowed));
    if (!frame) return absl::OkStatus();
    heard_ = Clock::now();
    DTNN_RETURN_IF_ERROR(TakeFrame(*std::move(frame)));
    // The frames after the one that lets it train are for later.
    if (!all && round_ && round_->ready && !round_->answered) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status FederationClient::TakeFrame(Frame frame) {
  switch (frame.header.kind) {
    case FrameKind::kWelcome: {
      DTNN_ASSIGN_OR_RETURN(welcome_, WelcomeFromBytes(frame.body));
      welcomed_ = true;
      return absl::OkStatus();
    }
    case FrameKind::kRefusal:
      return FailedPrecondition("refuses this client: ", TextFromBytes(frame.body));
    case FrameKind::kRound:
      return BeginRound(frame);
    case FrameKind::kParameters:
      round_->parameters.push_back(std::move(frame.body));
      if (round_->parameters.size() < ParameterChunks(round_->start)) return absl::OkStatus();
      return Forgo(SetUp(), kSetUpFailed);
    case FrameKind::kNote: {
      const absl::Status taken = TakeNote(frame);
      const std::optional<int> culprit = round_->protocol->culprit();
      return Forgo(taken, culprit ? kAccuses + uint32_t(*culprit) : kSetUpFailed);
    }
    case FrameKind::kQuestion: {
      ++round_->answers;
      absl::StatusOr<Bytes> answer =
          round_->codec->Answer({round_->attempt, frame.header.index}, frame.body);
      if (!answer.ok()) return Forgo(answer.status(), kSetUpFailed);
      channel_->Send(FrameKind::kAnswer, round_->attempt, frame.header.index, *std::move(answer));
      return absl::OkStatus();
    }
    case FrameKind::kVerdict:
      return TakeVerdict(frame);
    default:
      return absl::OkStatus();
  }
}

absl::Status FederationClient::Forgo(const absl::Status& why, uint32_t reason) {
  if (why.ok()) return why;
  if (options_.warn) {
    options_.warn(StrCat("round ", round_->start.round, ": takes no part: ", why.message()));
  }
  if (!std::exchange(round_->answered, true)) {
    channel_->Send(FrameKind::kDecline, round_->attempt, reason,
                   TextToBytes(std::string(why.message())));
  }
  return absl::OkStatus();
}

absl::Status FederationClient::BeginRound(const Frame& frame) {
  DTNN_ASSIGN_OR_RETURN(RoundStart start, RoundStartFromBytes(frame.body));
  if (start.parameters.encrypted && protector_.readable()) {
    return DataLoss("sends encrypted parameters, but this client has no key");
  }
  round_.emplace();
  round_->attempt = frame.header.attempt;
  attempts_ = std::max(attempts_, frame.header.attempt);
  round_->start = start;
  return absl::OkStatus();
}

absl::StatusOr<Company> FederationClient::CompanyOf(const RoundStart& start) const {
  if (start.samples[start.position] != options_.samples) {
    return FailedPrecondition("the aggregator says that this client has ",
                              start.samples[start.position], " samples; it has ", options_.samples);
  }
  Company company = {.factors = ClientFactors(start.weighting, start.samples),
                     .quorum = int(start.quorum),
                     .least_clients = options_.least_clients};
  // Else it is the aggregator that reads every update, or clients that trust each other.
  if (protector_.hides_in_sums()) {
    DTNN_RETURN_IF_ERROR(CheckHidden(company.factors, company.least_clients));
  }
  return company;
}

// All parameters are there.
absl::Status FederationClient::SetUp() {
  Round& round = *round_;
  if (round.start.over) {
    round.ready = true;
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const Company company, CompanyOf(round.start));
  round.factor = company.factors[round.start.position];
  Hash facts{};
  if (protector_.hides_in_sums()) {
    DTNN_ASSIGN_OR_RETURN(
        facts, HashOfRound(round.start, welcome_.nonce, round.attempt, round.parameters));
  }
  DTNN_ASSIGN_OR_RETURN(
      round.protocol,
      MakeClientProtocol(
          protector_,
          {.attempt = round.attempt,
           .nonce = welcome_.nonce,
           .participants = int(round.start.samples.size()),
           .chunks = protector_.chunks(protector_.sum_values(size_t(options_.model.values))),
           .facts = facts},
          int(round.start.position), options_.key, company));
  if (round.protocol->setup_notes() > 0) {
    DTNN_ASSIGN_OR_RETURN(Bytes first, round.protocol->FirstReply());
    channel_->Send(FrameKind::kReply, round.attempt, round.replies++, std::move(first));
    return absl::OkStatus();
  }
  return TakeNote({});
}

// The next note; or, without a kind that is one, none is awaited.
absl::Status FederationClient::TakeNote(const Frame& frame) {
  Round& round = *round_;
  if (frame.header.kind == FrameKind::kNote) {
    const int note = round.notes++;
    DTNN_ASSIGN_OR_RETURN(std::optional<Bytes> reply, round.protocol->TakeNote(note, frame.body));
    if (reply) {
      channel_->Send(FrameKind::kReply, round.attempt, round.replies++, *std::move(reply));
    }
  }
  if (round.ready || round.notes < round.protocol->setup_notes()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, welcome_.nonce));
  DTNN_ASSIGN_OR_RETURN(const Secret own, codec::ClientTagKey(job, int(round.start.position)));
  DTNN_ASSIGN_OR_RETURN(const Secret server, codec::ServerTagKey(job));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ClientCodec> codec, round.protocol->MakeCodec());
  round.codec = std::make_unique<codec::UpdateClient>(std::move(codec), int(round.start.position),
                                                      own, server);
  round.ready = true;
  return absl::OkStatus();
}

absl::Status FederationClient::TakeVerdict(const Frame& frame) {
  DTNN_ASSIGN_OR_RETURN(const Verdict verdict, VerdictFromBytes(frame.body));
  if (!round_ || frame.header.attempt != round_->attempt) return absl::OkStatus();
  if (!verdict.accepted && options_.warn) {
    options_.warn(StrCat("round ", round_->start.round,
                         ": the aggregator does not use this "
                         "client's update: ",
                         verdict.text));
  }
  if (round_->answered) return absl::OkStatus();
  // It awaits an answer all the same: that nothing more comes.
  channel_->Send(FrameKind::kDecline, round_->attempt, kSetUpFailed,
                 TextToBytes("the round is over"));
  round_->answered = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> FederationClient::DecodeParameters() {
  const ParametersFrom& from = round_->start.parameters;
  std::vector<float> values(size_t(options_.model.values));
  const size_t most = from.encrypted ? protector_.chunk_values() : kParameterChunk;
  std::unique_ptr<codec::ClientCodec> codec;
  std::optional<codec::UpdateClient> sums;
  if (from.encrypted) {
    DTNN_ASSIGN_OR_RETURN(
        codec, codec::CkksClient(protector_.context(), int(from.clients), *options_.key));
    DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, from.nonce));
    DTNN_ASSIGN_OR_RETURN(const Secret server, codec::ServerTagKey(job));
    sums.emplace(std::move(codec), 0, Secret(), server);
  } else {
    DTNN_ASSIGN_OR_RETURN(codec, codec::PlainClient(codec::WireType::kFloat32, most));
  }
  for (size_t chunk = 0; chunk * most < values.size(); ++chunk) {
    const std::span<float> part =
        std::span(values).subspan(chunk * most, std::min(most, values.size() - chunk * most));
    const Bytes& body = round_->parameters[chunk];
    DTNN_RETURN_IF_ERROR(WithContext(from.encrypted
                                         ? sums->Decode({from.attempt, uint32_t(chunk)}, body, part)
                                         : codec->Decode({0, uint32_t(chunk)}, body, part),
                                     "parameters of round ", round_->start.round));
  }
  if (from.encrypted) {
    for (float& x : values) x = float(x / from.divisor);
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
      return DataLoss("parameters of round ", round_->start.round, " are not finite");
    }
  }
  return values;
}

absl::StatusOr<RoundTask> FederationClient::Task() {
  RoundTask task = {.over = round_->start.over,
                    .round = round_->start.round,
                    .rounds = round_->start.rounds,
                    .proximal = round_->start.proximal};
  DTNN_ASSIGN_OR_RETURN(task.parameters, DecodeParameters());
  round_->parameters = {};
  if (!task.over && protector_.privacy().on()) round_->begin = task.parameters;
  return task;
}

absl::StatusOr<RoundTask> FederationClient::Next() {
  while (true) {
    if (channel_ == nullptr) {
      DTNN_RETURN_IF_ERROR(Connect());
      Say(StrCat(std::exchange(was_there_, true) ? "is there again: " : "is a client of ",
                 "the aggregator at ", options_.place.address.ToString()));
    }
    absl::Status status = channel_->Write();
    if (status.ok()) status = TakeFrames();
    DTNN_RETURN_IF_ERROR(Survive(status));
    if (channel_ == nullptr) continue;
    if (round_ && round_->ready && !round_->answered) {
      if (!round_->start.over) return Task();
      DTNN_ASSIGN_OR_RETURN(RoundTask task, Task());
      sent_ += channel_->bytes_sent();
      received_ += channel_->bytes_received();
      channel_.reset();
      return task;
    }
    // While frames are under way the aggregator is there, however long they take.
    const milliseconds patience = std::max(options_.timeout, milliseconds(2 * welcome_.alive_ms));
    if (Clock::now() > heard_ + patience) {
      Disconnect(Unavailable("nothing came for ", ToString(patience)));
      continue;
    }
    DTNN_RETURN_IF_ERROR(Sleep(heard_ + patience));
  }
}

// All that was sent is on its way.
absl::Status FederationClient::Flush() {
  Clock::time_point end = Clock::now() + options_.timeout;
  uint64_t before = channel_->bytes_sent();
  while (true) {
    DTNN_RETURN_IF_ERROR(channel_->Write());
    if (channel_->flushed()) return absl::OkStatus();
    DTNN_RETURN_IF_ERROR(TakeFrames(/*all=*/true));
    if (channel_->bytes_sent() != before) {
      before = channel_->bytes_sent();
      end = Clock::now() + options_.timeout;
    }
    if (Clock::now() > end) return Unavailable("takes nothing for ", ToString(options_.timeout));
    DTNN_RETURN_IF_ERROR(Sleep(end));
  }
}

absl::StatusOr<std::vector<float>> FederationClient::PrivateOf(std::span<const float> parameters) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!noise_) {
    DTNN_ASSIGN_OR_RETURN(noise_, options_.noise_seed
                                      ? ChaCha20Stream::Create(options_.noise_seed->bytes())
                                      : ChaCha20Stream::Random());
  }
  const RoundStart& start = round_->start;
  const int together = protector_.together(int(start.quorum), int(start.samples.size()));
  std::vector<float> update(parameters.begin(), parameters.end());
  DTNN_RETURN_IF_ERROR(MakePrivate(round_->begin, privacy.clip,
                                   NoiseOfClient(privacy, round_->factor, together), *noise_,
                                   update));
  return update;
}

double FederationClient::Epsilon() const {
  RenyiAccountant accountant;
  accountant.Add(1, protector_.privacy().noise, std::max(attempts_, private_updates_));
  return accountant.Epsilon(protector_.privacy().delta);
}

absl::Status FederationClient::Submit(std::span<const float> parameters, const Report& report) {
  if (parameters.size() != options_.model.values) {
    return InvalidArgument("an update of ", parameters.size(), " numbers, expected ",
                           options_.model.values);
  }
  if (channel_ == nullptr || !round_ || round_->answered) return absl::OkStatus();
  const uint64_t attempt = round_->attempt;
  heard_ = Clock::now();  // nobody has listened
  DTNN_RETURN_IF_ERROR(Survive(TakeFrames(/*all=*/true)));
  if (!Wanted(attempt)) return absl::OkStatus();
  Report told = report;
  std::vector<float> noisy;
  if (protector_.privacy().on()) {
    absl::StatusOr<std::vector<float>> made = PrivateOf(parameters);
    if (!made.ok()) {
      DTNN_RETURN_IF_ERROR(Forgo(made.status(), kOwnFault));
      return Survive(Flush());
    }
    noisy = *std::move(made);
    ++private_updates_;
    parameters = noisy;
  }
  const bool plain = protector_.protection() == Protection::kNone || options_.plain_metrics;
  const size_t sum_values = protector_.sum_values(parameters.size());
  std::vector<float> hidden;  // after the parameters
  if (sum_values > parameters.size()) {
    hidden = HideMetrics(told.metrics);
  } else if (!plain || protector_.privacy().on()) {
    told.metrics.clear();
  }
  const size_t most = protector_.chunk_values();
  std::vector<float> scaled;
  for (size_t at = 0; at < sum_values && Wanted(attempt); at += most) {
    scaled.resize(std::min(most, sum_values - at));
    for (size_t i = 0; i < scaled.size(); ++i) {
      const size_t of = at + i;
      const float x = of < parameters.size() ? parameters[of] : hidden[of - parameters.size()];
      scaled[i] = float(x * round_->factor);
    }
    const auto chunk = uint32_t(at / most);
    absl::StatusOr<Bytes> message = round_->codec->Encode({attempt, chunk}, scaled);
    if (!message.ok()) {
      DTNN_RETURN_IF_ERROR(Forgo(message.status(), kOwnFault));
      return Survive(Flush());
    }
    channel_->Send(FrameKind::kUpdate, attempt, chunk, *std::move(message));
    DTNN_RETURN_IF_ERROR(Survive(Flush()));  // memory holds one chunk
  }
  if (!Wanted(attempt)) return absl::OkStatus();
  channel_->Send(FrameKind::kReport, attempt, 0, ToBytes(told));
  round_->answered = true;
  heard_ = Clock::now();
  return Survive(Flush());
}

bool FederationClient::Wanted(uint64_t attempt) const {
  return channel_ != nullptr && round_ && round_->attempt == attempt && !round_->start.over &&
         !round_->answered;
}

absl::Status FederationClient::Decline(std::string_view why) {
  heard_ = Clock::now();
  if (channel_ == nullptr || !round_ || round_->answered) return absl::OkStatus();
  channel_->Send(FrameKind::kDecline, round_->attempt, kOwnFault, TextToBytes(why));
  round_->answered = true;
  return Survive(Flush());
}

}  // namespace dtnn::federation
