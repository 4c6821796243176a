#include "apps/aggregator/federation_watch.h"

#include <algorithm>
#include <utility>

#include "apps/aggregator/history_rounds.h"
#include "tensor/errors.h"

namespace dtnn {

using federation::Asked;
using federation::RoundRecord;
using State = FederationFacts::State;

FederationWatch::FederationWatch(std::chrono::milliseconds patience,
                                 std::function<Clock::time_point()> now)
    : patience_(patience), now_(std::move(now)), turned_(now_()) {}

double FederationWatch::SecondsSince(Clock::time_point time) const {
  return std::chrono::duration<double>(now_() - time).count();
}

FederationFacts FederationWatch::Facts() const {
  const std::lock_guard lock(mutex_);
  FederationFacts facts = facts_;
  facts.seconds_since_turn = SecondsSince(turned_);
  return facts;
}

// Those that are there first.
FederationLists FederationWatch::Lists() const {
  const std::lock_guard lock(mutex_);
  FederationLists lists = {.hides_drawn = hides_drawn_, .rounds = {rounds_.begin(), rounds_.end()}};
  for (const bool there : {true, false}) {
    for (const auto& [name, client] : clients_) {
      if (lists.clients.size() == FederationFacts::kMostClients) break;
      if (client.there == there) lists.clients.emplace_back(name, client);
    }
  }
  return lists;
}

// Saving and testing may take long; that is warned of, and not a reason to end the aggregator.
absl::Status FederationWatch::Health() const {
  const std::lock_guard lock(mutex_);
  const bool listens = facts_.state != State::kOver && facts_.state != State::kSaves;
  if (!listens || now_() - turned_ < patience_) return absl::OkStatus();
  return Unavailable("the aggregator has not listened to its clients for ",
                     int64_t(SecondsSince(turned_)), " seconds, with a --comm-timeout of ",
                     patience_.count() / 1000);
}

void FederationWatch::Begin(const std::string& network, int64_t rounds_done, int64_t rounds,
                            bool hides_drawn) {
  const std::lock_guard lock(mutex_);
  facts_.network = network;
  facts_.rounds_done = rounds_done;
  facts_.rounds = rounds;
  turned_ = now_();
  hides_drawn_ = hides_drawn;
}

void FederationWatch::Remember(std::string_view history) {
  std::deque<std::shared_ptr<const FederationFacts::Round>> rounds;
  for (FederationFacts::Round& round : RoundsOfHistory(history)) {
    rounds.push_back(std::make_shared<const FederationFacts::Round>(std::move(round)));
    if (rounds.size() > FederationFacts::kMostRounds) rounds.pop_front();
  }
  const std::lock_guard lock(mutex_);
  rounds_ = std::move(rounds);
  if (!rounds_.empty()) facts_.last_round = rounds_.back();
}

void FederationWatch::OnClient(const std::string& name, int64_t samples) {
  const std::lock_guard lock(mutex_);
  FederationFacts::Client& client = clients_[name];
  if (!std::exchange(client.there, true)) ++facts_.there;
  client.samples = samples;
}

// One that has left is remembered while there is room: callers choose their names.
void FederationWatch::OnGone(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto client = clients_.find(name);
  if (client == clients_.end()) return;
  if (std::exchange(client->second.there, false)) --facts_.there;
  client->second.asked = false;
  if (clients_.size() > FederationFacts::kMostClients) clients_.erase(client);
}

void FederationWatch::OnRefusal() {
  const std::lock_guard lock(mutex_);
  ++facts_.refusals;
}

void FederationWatch::OnRevoked(const std::string&) {
  const std::lock_guard lock(mutex_);
  ++facts_.revocations;
}

void FederationWatch::OnLate(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ++facts_.late;
  const auto client = clients_.find(name);
  if (client != clients_.end()) ++client->second.late;
}

void FederationWatch::OnAttempt(int64_t, std::span<const Asked> asked) {
  const std::lock_guard lock(mutex_);
  facts_.state = State::kRound;
  facts_.asked += int64_t(asked.size());
  for (auto& [name, client] : clients_) client.asked = false;
  for (const Asked& one : asked) {
    const auto client = clients_.find(one.name);
    if (client != clients_.end()) client->second.asked = true;
  }
}

void FederationWatch::OnAsk(const std::string& name) {
  const std::lock_guard lock(mutex_);
  ++asks_;
  ++facts_.asked;
  facts_.state = State::kRound;
  const auto client = clients_.find(name);
  if (client != clients_.end()) client->second.asked = true;
}

void FederationWatch::OnAskEnd(const std::string& name) {
  const std::lock_guard lock(mutex_);
  --asks_;
  facts_.state = Between();
  const auto client = clients_.find(name);
  if (client != clients_.end()) client->second.asked = false;
}

FederationFacts::State FederationWatch::Between() const {
  return asks_ > 0 ? State::kRound : State::kWaits;
}

void FederationWatch::OnStepEnd(Step step, double seconds) {
  const std::lock_guard lock(mutex_);
  switch (step) {
    case Step::kSetUp:
      return facts_.set_up.Add(seconds);
    case Step::kUpdates:
      return facts_.updates.Add(seconds);
    case Step::kFinish:
      return facts_.finish.Add(seconds);
  }
}

void FederationWatch::OnAttemptEnd(std::span<const Asked> asked, bool good) {
  const std::lock_guard lock(mutex_);
  ++(good ? facts_.good_attempts : facts_.failed_attempts);
  facts_.state = Between();
  for (const Asked& one : asked) {
    const bool counted = good && one.state == Asked::State::kAccepted;
    const bool left_out = one.state == Asked::State::kLeftOut;
    if (counted) ++facts_.accepted;
    if (left_out) ++facts_.left_out;
    const auto client = clients_.find(one.name);
    if (client == clients_.end()) continue;
    if (counted) ++client->second.accepted;
    if (left_out) ++client->second.left_out;
    if (!one.why.empty()) client->second.why = one.why;
  }
}

void FederationWatch::OnTurn(uint64_t sent, uint64_t received) {
  const std::lock_guard lock(mutex_);
  turned_ = now_();
  facts_.bytes_sent = sent;
  facts_.bytes_received = received;
}

void FederationWatch::OnSave() {
  const std::lock_guard lock(mutex_);
  facts_.state = State::kSaves;
  saves_since_ = now_();
}

void FederationWatch::OnRoundDone(const RoundRecord& record) {
  FederationFacts::Round round = {.round = record.round,
                                  .asked = int64_t(record.clients.size()),
                                  .attempts = record.attempts,
                                  .bytes_sent = record.bytes_sent,
                                  .bytes_received = record.bytes_received,
                                  .seconds = record.seconds,
                                  .metrics = record.metrics,
                                  .epsilons = record.epsilons,
                                  .clipping = record.clipping};
  round.accepted = std::ranges::count(record.clients, Asked::State::kAccepted, &Asked::state);
  round.metrics.resize(std::min(round.metrics.size(), FederationFacts::kMostMetrics));
  const std::lock_guard lock(mutex_);
  facts_.state = Between();
  facts_.rounds_done = record.round;
  if (record.rounds > 0) facts_.rounds = record.rounds;
  facts_.save.Add(SecondsSince(saves_since_));
  facts_.last_round = std::make_shared<const FederationFacts::Round>(std::move(round));
  // A parent may ask for a round again.
  while (!rounds_.empty() && rounds_.back()->round >= record.round) rounds_.pop_back();
  if (rounds_.size() == FederationFacts::kMostRounds) rounds_.pop_front();
  rounds_.push_back(facts_.last_round);
  turned_ = now_();  // it listens again
}

void FederationWatch::OnEnd() {
  const std::lock_guard lock(mutex_);
  facts_.state = State::kOver;
}

}  // namespace dtnn
