#include "comm/federation/client/client.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "comm/federation/agreed.h"
#include "comm/federation/client/prove_identity.h"
#include "comm/federation/client/update_numbers.h"
#include "comm/federation/compression.h"
#include "comm/patience.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestSleep(100);
// Bytes of a frame; of the start of a round, which has samples and steps of all clients.
constexpr size_t kMostSmall = 4 << 10, kMostRoundBytes = kMostSmall + 16 * kMostParticipants;

}  // namespace

absl::StatusOr<std::unique_ptr<FederationClient>> FederationClient::Create(
    const ClientOptions& options, const JobSecret& secret) {
  DTNN_RETURN_IF_ERROR(CheckClientName(options.name));
  if (options.samples < 1 && !options.group) {
    return absl::InvalidArgumentError("a client needs samples to train on");
  }
  if (options.group &&
      (options.protection.protection != Protection::kNone || options.protection.privacy.on())) {
    return absl::InvalidArgumentError(
        "the mean of an aggregator's clients is sent without encryption and noise");
  }
  if (options.steps < 1 || options.steps > kMostSteps) {
    return InvalidArgument("a client that makes ", options.steps,
                           " steps in a round: expected 1 to ", kMostSteps);
  }
  if (options.timeout.count() < 1) return absl::InvalidArgumentError("a client needs a timeout");
  DTNN_RETURN_IF_ERROR(CheckLabels(options.labels));
  const Protection protection = options.protection.protection;
  const int most_clients = MostParticipants(options.protection);
  if (!(options.least_clients >= 1 && options.least_clients <= most_clients)) {
    return InvalidArgument("sums of at least ", options.least_clients, " clients: expected 1 to ",
                           most_clients);
  }
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
  DTNN_ASSIGN_OR_RETURN(const Hash of_names, HashOfNames(options_.class_names));
  const Hash class_names = options_.class_names.empty() ? options_.names_of_clients : of_names;
  welcomed_ = false;
  told_ = options_.group ? options_.group() : GroupSize{.samples = options_.samples};
  channel_->Send(FrameKind::kHello, 0, 0,
                 ToBytes(Hello{.name = options_.name,
                               .model = options_.model,
                               .samples = told_.samples,
                               .protection = protector_.ToString(),
                               .key = key_id,
                               .class_names = class_names,
                               .steps = options_.steps,
                               .clients = told_.clients,
                               .aggregators = told_.aggregators,
                               .labels = options_.labels}));
  return AwaitAnswer(call_, *channel_, [this]() -> absl::StatusOr<bool> {
    DTNN_RETURN_IF_ERROR(TakeFrames());
    return welcomed_;
  });
}

absl::Status FederationClient::Introduce(Link link) {
  channel_ = std::make_unique<Channel>(std::move(link.stream), link.address);
  heard_ = Clock::now();
  absl::Status status = ProveIdentity(call_, *channel_);
  if (status.ok()) status = AwaitWelcome();
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

std::optional<size_t> FederationClient::Allowed(const FrameHeader& header) const {
  switch (header.kind) {
    case FrameKind::kWelcome:
      return welcomed_ ? std::nullopt : std::optional(kMostSmall);
    case FrameKind::kRefusal:
    case FrameKind::kAlive:
    case FrameKind::kVerdict:
      return kMostSmall;
    case FrameKind::kRound:
      return welcomed_ ? std::optional(kMostRoundBytes) : std::nullopt;
    default:
      return round_ ? round_->Allowed(header) : std::nullopt;
  }
}

absl::Status FederationClient::TakeFrames(bool all) {
  const auto allowed = [this](const FrameHeader& header) { return Allowed(header); };
  while (channel_ != nullptr) {
    DTNN_ASSIGN_OR_RETURN(std::optional<Frame> frame, channel_->Receive(allowed));
    if (!frame) return absl::OkStatus();
    heard_ = Clock::now();
    DTNN_RETURN_IF_ERROR(TakeFrame(*std::move(frame)));
    // The frames after the one that lets it train are for later.
    if (!all && Ready()) return absl::OkStatus();
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
      return RefusalOf(frame);
    case FrameKind::kRound: {
      const auto send = [this](FrameKind kind, uint64_t attempt, uint32_t index, Bytes body) {
        channel_->Send(kind, attempt, index, std::move(body));
      };
      DTNN_ASSIGN_OR_RETURN(
          ClientRound round,
          ClientRound::Begin(frame, {options_, protector_, secret_, welcome_.nonce, send}));
      round_.emplace(std::move(round));
      attempts_ = std::max(attempts_, frame.header.attempt);
      return absl::OkStatus();
    }
    default: {
      if (!round_) return absl::OkStatus();
      const bool knew = round_->accepted().has_value();
      DTNN_RETURN_IF_ERROR(round_->Take(std::move(frame)));
      if (knew || !round_->accepted()) return absl::OkStatus();
      accepted_ = round_->accepted();
      if (!options_.verdict) return absl::OkStatus();
      return options_.verdict({welcome_.nonce, round_->attempt()}, *accepted_);
    }
  }
}

void FederationClient::SendSize() {
  if (!options_.group) return;
  const GroupSize now = options_.group();
  if (now == std::exchange(told_, now)) return;
  channel_->Send(FrameKind::kSize, 0, 0, ToBytes(now));
}

absl::StatusOr<RoundTask> FederationClient::Next() {
  while (true) {
    if (channel_ == nullptr) {
      DTNN_RETURN_IF_ERROR(Connect());
      Say(StrCat(std::exchange(was_there_, true) ? "is there again: " : "is a client of ",
                 "the aggregator at ", options_.place.address.ToString()));
    }
    SendSize();
    absl::Status status = channel_->Write();
    if (status.ok()) status = TakeFrames();
    DTNN_RETURN_IF_ERROR(Survive(status));
    if (channel_ == nullptr) continue;
    if (Ready()) {
      DTNN_ASSIGN_OR_RETURN(RoundTask task, round_->Task());
      if (protector_.privacy().on() || round_->sends_difference()) begin_ = task.parameters;
      if (task.over) Close();
      return task;
    }
    // While frames are under way the aggregator is there, however long they take.
    const milliseconds patience = Patience();
    if (Clock::now() > heard_ + patience) {
      Disconnect(Unavailable("nothing came for ", ToString(patience)));
      continue;
    }
    DTNN_RETURN_IF_ERROR(Sleep(heard_ + patience));
  }
}

// All that was sent is on its way.
absl::Status FederationClient::Flush() {
  Clock::time_point end = Clock::now() + Patience();
  uint64_t before = channel_->bytes_sent();
  while (true) {
    DTNN_RETURN_IF_ERROR(channel_->Write());
    if (channel_->flushed()) return absl::OkStatus();
    const Clock::time_point heard = heard_;
    DTNN_RETURN_IF_ERROR(TakeFrames(/*all=*/true));
    // One that is not read, but hears from the aggregator, waits for its turn.
    if (channel_->bytes_sent() != before || heard_ != heard) {
      before = channel_->bytes_sent();
      end = Clock::now() + Patience();
    }
    if (Clock::now() > end) return Unavailable("takes nothing for ", ToString(Patience()));
    DTNN_RETURN_IF_ERROR(Sleep(end));
  }
}

absl::StatusOr<std::vector<float>> FederationClient::PrivateOf(std::span<const float> parameters) {
  if (!noise_) {
    DTNN_ASSIGN_OR_RETURN(noise_, options_.noise_seed
                                      ? ChaCha20Stream::Create(options_.noise_seed->bytes())
                                      : ChaCha20Stream::Random());
  }
  return PrivateUpdate(protector_, round_->clip(), begin_, round_->factor(), round_->together(),
                       *noise_, parameters);
}

double FederationClient::Epsilon() const {
  RenyiAccountant accountant;
  accountant.Add(1, protector_.privacy().noise, std::max(attempts_, private_updates_));
  return accountant.Epsilon(protector_.privacy().delta);
}

absl::Status FederationClient::Submit(std::span<const float> parameters, const Report& report) {
  const uint64_t values = round_ ? round_->values() : options_.model.values;
  if (parameters.size() != values && (round_ || parameters.size() < values)) {
    return InvalidArgument("an update of ", parameters.size(), " numbers, expected ", values);
  }
  accepted_ = false;
  if (channel_ == nullptr || !Ready()) return absl::OkStatus();
  const uint64_t attempt = round_->attempt();
  heard_ = Clock::now();  // nobody has listened
  DTNN_RETURN_IF_ERROR(Survive(TakeFrames(/*all=*/true)));
  if (!Wanted(attempt)) return absl::OkStatus();
  Report told = report;
  std::vector<float> noisy, difference;
  if (protector_.privacy().on()) {
    absl::StatusOr<std::vector<float>> made = PrivateOf(parameters);
    if (!made.ok()) {
      DTNN_RETURN_IF_ERROR(round_->Forgo(made.status(), kOwnFault));
      return Survive(Flush());
    }
    noisy = *std::move(made);
    ++private_updates_;
    parameters = noisy;
  }
  if (round_->sends_difference()) {
    difference = DifferenceOf(parameters, begin_, options_.model.trainable);
    Select(round_->compression(), options_.model.trainable, difference);
    parameters = difference;
  }
  const size_t sum_values = protector_.sum_values(values);
  const std::vector<float> hidden =  // after the parameters
      HideReport(protector_, options_.plain_metrics, told.metrics);
  const double weight = round_->factor() * (options_.group ? round_->ShareOf(told) : 1);
  // The aggregator multiplies a compressed update when it has read it.
  const double factor = round_->compression().on() ? 1 : weight;
  const size_t most = protector_.chunk_values();
  std::vector<float> scaled;
  for (size_t at = 0; at < sum_values && Wanted(attempt); at += most) {
    scaled.resize(std::min(most, sum_values - at));
    ScaleNumbers(parameters, hidden, factor, at, scaled);
    const auto chunk = uint32_t(at / most);
    absl::StatusOr<Bytes> message = round_->Encode(chunk, scaled);
    if (!message.ok()) {
      DTNN_RETURN_IF_ERROR(round_->Forgo(message.status(), kOwnFault));
      return Survive(Flush());
    }
    channel_->Send(FrameKind::kUpdate, attempt, chunk, *std::move(message));
    DTNN_RETURN_IF_ERROR(Survive(Flush()));  // memory holds one chunk
  }
  if (!Wanted(attempt)) return absl::OkStatus();
  if (options_.completing) {
    DTNN_RETURN_IF_ERROR(options_.completing({welcome_.nonce, attempt}));
  }
  accepted_.reset();
  round_->Finish(told);
  heard_ = Clock::now();
  return Survive(Flush());
}

bool FederationClient::Wanted(uint64_t attempt) const {
  return channel_ != nullptr && Ready() && round_->attempt() == attempt && !round_->over();
}

absl::Status FederationClient::Decline(std::string_view why, DeclineReason reason) {
  heard_ = Clock::now();
  if (channel_ == nullptr || !round_) return absl::OkStatus();
  round_->Decline(why, reason);
  return Survive(Flush());
}

}  // namespace dtnn::federation
