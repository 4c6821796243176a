#include "comm/federation/aggregator/buffer/buffered_rounds.h"

#include <algorithm>

#include "comm/federation/aggregator/round_messages.h"
#include "comm/federation/agreed.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::federation {

BufferedRounds::BufferedRounds(const AggregatorOptions& options, const JobSecret& secret,
                               Protector protector, FederationState& state)
    : options_(options),
      secret_(secret),
      protector_(std::move(protector)),
      state_(state),
      roster_(options_, protector_, state_, nonce_),
      places_(ReceivePlaces::Count(options.receive_bytes,
                                   size_t(options.model.values) * sizeof(float))),
      buffer_(options.buffer, options.strategy, options.robust, size_t(options.model.values),
              size_t(options.model.trainable)) {}

absl::Status BufferedRounds::Open() {
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  choice_seed_ = options_.choice_seed;
  if (!choice_seed_) {
    DTNN_ASSIGN_OR_RETURN(choice_seed_, RandomSecret());
  }
  const auto values = size_t(options_.model.values);
  DTNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ServerProtocol> protocol,
      MakeServerProtocol(protector_, {.nonce = nonce_,
                                      .participants = 1,
                                      .chunks = protector_.chunks(values),
                                      .compression = options_.compression,
                                      .trainable = size_t(options_.model.trainable)}));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ServerCodec> codec, protocol->MakeCodec());
  DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, nonce_));
  codec_.emplace(std::move(codec), job);
  parts_.emplace(AskParts{.codec = *codec_,
                          .shape = {.values = values, .chunk_values = protector_.chunk_values()},
                          .deadline = options_.deadline,
                          .places = places_});
  return roster_.Open(secret_);
}

BufferedRounds::Clock::time_point BufferedRounds::next() const {
  Clock::time_point next = Clock::time_point::max();
  for (const std::shared_ptr<Ask>& ask : running_) next = std::min(next, ask->deadline());
  return next;
}

void BufferedRounds::Settle() {
  const Clock::time_point now = Clock::now();
  for (const std::shared_ptr<Ask>& ask : running_) ask->Advance(now);
  TakeUpdates();
  EndSettled();
  if (changes_ == roster_.allowed_changes()) return;
  changes_ = roster_.allowed_changes();
  Revoke();
  Settle();  // those that it has lost
}

void BufferedRounds::TakeUpdates() {
  while (!buffer_.full()) {
    Ask* first = nullptr;
    for (const std::shared_ptr<Ask>& ask : running_) {
      if (ask->complete() == 0) continue;
      if (first == nullptr || ask->complete() < first->complete()) first = ask.get();
    }
    if (first == nullptr) return;
    Use(*first);
  }
}

void BufferedRounds::Use(Ask& ask) {
  absl::StatusOr<std::vector<float>> update = ask.Read();
  absl::Status good = update.status();
  if (good.ok()) good = buffer_.Check(*update, options_.max_update_norm);
  if (!good.ok()) return ask.Refuse(std::string(good.message()));
  ask.Accept(state_.rounds_done - ask.version());
  buffer_.Add(*std::move(update), ask.client());
  if (ask.client().staleness == 0) trained_.insert(ask.client().name);
}

void BufferedRounds::EndSettled() {
  for (const std::shared_ptr<Ask>& ask : running_) {
    if (ask->settled()) End(*ask);
  }
  std::erase_if(running_, [](const std::shared_ptr<Ask>& ask) { return ask->over(); });
}

void BufferedRounds::End(Ask& ask) {
  const Asked& client = ask.client();
  if (client.state == Asked::State::kAccepted) {
    used_[client.name] = ask.key();
  } else {
    ++left_out_;
    options_.Warn(StrCat("round ", state_.rounds_done + 1, ": client ", client.name,
                         " is left out: ", WithNames(client.why, {&client, 1})));
  }
  lost_.Count({&client, 1}, /*failed=*/false, options_.min_clients);
  ended_.push_back(WithNames({&client, 1}).front());
  Close(ask);
}

void BufferedRounds::Close(Ask& ask) {
  ask.Close();
  const Asked& client = ask.client();
  options_.Observer().OnAskEnd(client.name);
  for (auto& [id, member] : roster_.members()) {
    if (member.attempt.get() != &ask) continue;
    const bool accepted = client.state == Asked::State::kAccepted;
    if (!accepted && member.channel.Forget(ask.number())) {
      member.attempt.reset();  // it does not know that it was asked
      return;
    }
    member.channel.Send(
        FrameKind::kVerdict, ask.number(), 0,
        ToBytes(Verdict{.accepted = client.state == Asked::State::kAccepted, .text = client.why}));
    // The others answer that they know it, or with what they have sent already.
    if (ask.answered(0)) member.Answered();
    return;
  }
}

void BufferedRounds::Revoke() {
  const std::string why = "it is no longer on the list, or not with its key";
  for (const std::shared_ptr<Ask>& ask : running_) {
    if (!roster_.Allows(ask->client().name, ask->key())) ask->LeaveOut(why);
  }
  const auto gone = std::ranges::find_if(used_, [this](const auto& name_and_key) {
    return !roster_.Allows(name_and_key.first, name_and_key.second);
  });
  if (gone == used_.end()) return;
  options_.Warn(StrCat("round ", state_.rounds_done + 1, ": the update of client ", gone->first,
                       " must not be used: ", why, "; the updates of the round are dropped"));
  for (Asked& client : ended_) {
    if (client.state != Asked::State::kAccepted) continue;
    client.state = Asked::State::kLeftOut;
    client.why = client.name == gone->first ? why : "the buffer that had its update was dropped";
  }
  buffer_.Clear();
  used_.clear();
  trained_.clear();
}

absl::Status BufferedRounds::Move() {
  const std::vector<float> mean = buffer_.Mean(state_.parameters);
  DTNN_RETURN_IF_ERROR(TakeAverage(options_.strategy, size_t(options_.model.trainable), mean,
                                   ended_,
                                   /*all_samples=*/1, state_));
  state_.from = {.attempt = state_.attempts, .nonce = nonce_};
  bodies_.clear();
  buffer_.Clear();
  used_.clear();
  trained_.clear();
  return absl::OkStatus();
}

void BufferedRounds::DropStale() {
  too_stale_ = 0;
  for (const std::shared_ptr<Ask>& ask : running_) {
    const int64_t staleness = state_.rounds_done - ask->version();
    if (staleness <= options_.buffer.max_staleness) continue;
    ++too_stale_;
    ask->LeaveOut(StrCat("its update is too stale: it trains from the parameters of ", staleness,
                         " rounds ago, and ", options_.buffer.max_staleness, " are allowed"));
  }
  EndSettled();
}

absl::Status BufferedRounds::RunRound() {
  lost_.Clear();
  ended_.clear();
  left_out_ = 0;
  const auto [sent, received] = roster_.bytes();
  const Clock::time_point begin = Clock::now();
  DropStale();
  DTNN_RETURN_IF_ERROR(AskClients());
  DTNN_RETURN_IF_ERROR(roster_.Turn(Clock::now()));  // what has come since the last round
  Settle();
  while (true) {
    if (!buffer_.full()) {
      DTNN_RETURN_IF_ERROR(AskClients());
      if (running_.empty()) DTNN_RETURN_IF_ERROR(AwaitClients());
      DTNN_RETURN_IF_ERROR(roster_.Turn(next()));
      Settle();
      if (left_out_ > int64_t(kMostAttempts * std::max<size_t>(turns_, 1))) {
        return Unavailable("round ", state_.rounds_done + 1, ": gave up after ", left_out_,
                           " clients that were left out");
      }
      continue;
    }
    DTNN_RETURN_IF_ERROR(roster_.SettleAllowed());  // no sum has the update of one that is gone
    Settle();
    if (buffer_.full()) break;
  }
  DTNN_RETURN_IF_ERROR(Move());
  const auto [sent_now, received_now] = roster_.bytes();
  RoundRecord record = RecordOfRound(state_, protector_.privacy(), ended_);
  record.attempts = 1;
  record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  record.bytes_sent = sent_now - sent;
  record.bytes_received = received_now - received;
  record.buffer = BufferRecordOf(record.clients, too_stale_);
  options_.Observer().OnStepEnd(FederationObserver::Step::kUpdates, record.seconds);
  options_.Observer().OnAttemptEnd(record.clients, /*good=*/true);
  return Report(record);
}

// Clients train and send while it is written and tested, which is not their time.
absl::Status BufferedRounds::Report(const RoundRecord& record) {
  if (!options_.round_done) return absl::OkStatus();
  const Clock::time_point before = Clock::now();
  DTNN_RETURN_IF_ERROR(options_.round_done(record, state_));
  const Clock::duration time = Clock::now() - before;
  for (const std::shared_ptr<Ask>& ask : running_) ask->Excuse(time);
  places_.Excuse(time);
  return absl::OkStatus();
}

absl::Status BufferedRounds::Run() {
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  for (const std::shared_ptr<Ask>& ask : running_) {
    ask->LeaveOut("the federation has ended");
    Close(*ask);
  }
  running_.clear();
  return SendTheEnd(options_, options_.rounds, state_, roster_);
}

}  // namespace dtnn::federation
