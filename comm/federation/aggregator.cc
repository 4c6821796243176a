#include "comm/federation/aggregator.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "comm/codec/plain_codec.h"
#include "comm/crypto/random_secret.h"
#include "comm/federation/agreed.h"
#include "comm/federation/channel.h"
#include "comm/patience.h"
#include "tensor/errors.h"
#include "tensor/philox.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMostHello = 2 << 10;
// How long one that has proved that it knows the secret may take to say who it is.
constexpr std::chrono::seconds kHelloTime(10);
// Between two attempts at a round: longer and longer, while clients are lost in each.
constexpr milliseconds kPauseFirst(100), kPauseLast(1000);
constexpr milliseconds kLongestSleep(200);
// At one round: with clients that are always too slow it would never end.
constexpr uint64_t kMostAttempts = 50;
// A client that was lost so often in a round is asked again only where there are too few others.
constexpr int kManyLosses = 3;
// How long clients get to fetch the final parameters.
constexpr std::chrono::seconds kFarewell(10);
// Connections, also of names that are never asked.
constexpr size_t kMostConnections = 512;
// Frames of one client that are read before others have their turn.
constexpr int kFramesPerTurn = 16;

struct Member {
  Member(std::unique_ptr<Stream> stream, std::string address)
      : channel(std::move(stream), std::move(address)) {}

  Channel channel;
  Clock::time_point since = Clock::now();
  std::string name;  // empty before its hello
  int64_t samples = 0;
  KeyName key{};
  std::shared_ptr<Attempt> attempt;  // that it was asked in and has not answered
  // The last one that it has answered: what still comes for it is none of the other's.
  std::shared_ptr<Attempt> past;
  int position = 0, past_position = 0;
  bool ending = false;  // when all is sent

  void Answered() {
    past = std::move(attempt);
    past_position = position;
    attempt.reset();
  }
};

class Aggregator {
 public:
  Aggregator(const AggregatorOptions& options, const JobSecret& secret, Protector protector,
             FederationState& state)
      : options_(options),
        secret_(secret),
        protector_(std::move(protector)),
        state_(state),
        min_clients_(size_t(options.min_clients)) {}

  absl::Status Open();
  absl::Status Run();

 private:
  using Members = std::map<int, Member>;

  // Sleeps until something happens, at most until then, and deals with all of it.
  absl::Status Turn(Clock::time_point until);
  absl::Status Welcome(std::vector<Link> arrived);
  void Hear(int id);
  absl::Status TakeFrames(int id, Member& member);
  absl::Status TakeHello(int id, Member& member, const Frame& frame);
  void Remove(int id, const std::string& why);
  void Refuse(Member& member, const std::string& why);
  void End(Member& member, const std::string& why);
  void CountLosses(const Attempt& attempt);
  // The key that clients need now.
  KeyName Key() const;
  std::vector<int> Idle() const;
  // The clients of the next attempt; empty: too few are there.
  std::vector<int> Choose();
  absl::Status RunRound();
  absl::StatusOr<std::shared_ptr<Attempt>> RunAttempt(const std::vector<int>& chosen);
  void TellVerdicts(const Attempt& attempt, bool good);
  void Account(const Attempt& attempt);
  absl::Status FinishRound(const Attempt& attempt, Clock::time_point begin, uint64_t sent,
                           uint64_t received);
  absl::Status SayFarewell();
  absl::StatusOr<std::vector<SharedBytes>> ParameterBodies() const;
  void SendParameters(Member& member, const RoundStart& start,
                      const std::vector<SharedBytes>& bodies);
  void Say(std::string_view line) const {
    if (options_.say) options_.say(line);
  }
  void Warn(std::string_view line) const {
    if (options_.warn) options_.warn(line);
  }
  absl::Status CheckInterrupt() const {
    if (!options_.interrupted || !options_.interrupted()) return absl::OkStatus();
    return absl::CancelledError(StrCat("interrupted after round ", state_.rounds_done));
  }

  const AggregatorOptions& options_;
  const JobSecret& secret_;
  const Protector protector_;
  FederationState& state_;
  const size_t min_clients_;
  RunNonce nonce_{};
  std::unique_ptr<Entrance> entrance_;
  Members members_;
  int next_id_ = 0;
  Clock::time_point alive_at_{};
  std::set<std::string> excluded_;     // names, from this round
  std::map<std::string, int> losses_;  // by name, in this round
  std::shared_ptr<Attempt> current_;
  KeyName round_key_{};
  double sampling_ = 1;               // of those who were there, the share that was asked
  uint64_t sent_ = 0, received_ = 0;  // of connections that have ended
  uint64_t attempts_before_ = 0;
  std::string trouble_;
};

absl::Status Aggregator::Open() {
  DTNN_RETURN_IF_ERROR(FillRandom(nonce_));
  DTNN_ASSIGN_OR_RETURN(
      entrance_, OpenEntrance(options_.place, secret_, options_.timeout, options_.interrupted));
  return absl::OkStatus();
}

absl::Status Aggregator::Turn(Clock::time_point until) {
  DTNN_RETURN_IF_ERROR(CheckInterrupt());
  std::vector<pollfd> descriptors;
  entrance_->AddTo(descriptors);
  const size_t strangers = descriptors.size();
  std::vector<int> ids;
  for (auto& [id, member] : members_) {
    descriptors.push_back({member.channel.descriptor(), member.channel.events(), 0});
    ids.push_back(id);
  }
  const Clock::time_point now = Clock::now();
  const auto sleep =
      std::min<Clock::duration>(std::min(until, entrance_->next()) - now, kLongestSleep);
  const auto pause = std::chrono::ceil<milliseconds>(sleep).count();
  poll(descriptors.data(), descriptors.size(), int(std::max<int64_t>(0, pause)));
  DTNN_ASSIGN_OR_RETURN(std::vector<Link> arrived,
                        entrance_->Advance(std::span(descriptors).first(strangers)));
  if (std::string trouble = entrance_->trouble(); trouble != trouble_) {
    trouble_ = std::move(trouble);
    Warn(trouble_);
  }
  DTNN_RETURN_IF_ERROR(Welcome(std::move(arrived)));
  for (const int id : ids) {
    if (members_.contains(id)) Hear(id);
  }
  return absl::OkStatus();
}

absl::Status Aggregator::Welcome(std::vector<Link> arrived) {
  for (Link& link : arrived) {
    if (members_.size() >= kMostConnections) {
      Warn(StrCat("refused: ", link.address, ": there are ", members_.size(),
                  " connections already"));
      continue;
    }
    const auto [place, added] =
        members_.try_emplace(next_id_++, std::move(link.stream), link.address);
    Hear(place->first);  // a stream may hold what poll does not know of
  }
  const Clock::time_point now = Clock::now();
  if (now < alive_at_) return absl::OkStatus();
  alive_at_ = now + options_.timeout / 4;
  for (auto& [id, member] : members_) {
    if (!member.name.empty() && member.channel.flushed())
      member.channel.Send(FrameKind::kAlive, 0, 0);
  }
  return absl::OkStatus();
}

void Aggregator::Hear(int id) {
  Member& member = members_.at(id);
  absl::Status status = TakeFrames(id, member);
  if (status.ok()) status = member.channel.Write();
  if (status.ok() && member.ending && member.channel.flushed()) {
    status = absl::OutOfRangeError("it was refused");
  }
  if (status.ok() && member.name.empty() && Clock::now() > member.since + kHelloTime) {
    status =
        Unavailable(member.ending ? "did not read why it was refused" : "did not say who it is");
  }
  if (!status.ok()) Remove(id, std::string(status.message()));
}

absl::Status Aggregator::TakeFrames(int id, Member& member) {
  const auto allowed = [&member](const FrameHeader& header) -> std::optional<size_t> {
    if (member.ending) return std::nullopt;
    if (member.name.empty()) {
      if (header.kind == FrameKind::kHello) return kMostHello;
      return std::nullopt;
    }
    if (member.attempt != nullptr) {
      const std::optional<size_t> most = member.attempt->Allowed(member.position, header);
      if (most) return most;
    }
    if (member.past == nullptr) return std::nullopt;
    return member.past->Allowed(member.past_position, header);
  };
  for (int turn = 0; turn < kFramesPerTurn; ++turn) {
    if (member.ending) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(std::optional<Frame> frame, member.channel.Receive(allowed));
    if (!frame) return absl::OkStatus();
    if (member.name.empty()) {
      DTNN_RETURN_IF_ERROR(TakeHello(id, member, *frame));
      continue;
    }
    if (member.past != nullptr && frame->header.attempt == member.past->number()) {
      member.past->Take(member.past_position, *std::move(frame));
      continue;
    }
    const std::shared_ptr<Attempt> attempt = member.attempt;
    attempt->Take(member.position, *std::move(frame));
    if (attempt == current_ || !attempt->answered(member.position)) continue;
    Warn(StrCat("client ", member.name,
                ": its update came after its round was over, and is dropped"));
    member.Answered();
  }
  return absl::OkStatus();
}

void Aggregator::Refuse(Member& member, const std::string& why) {
  Warn(StrCat("refused: client ", member.name.empty() ? member.channel.address() : member.name,
              ": ", why));
  End(member, why);
}

void Aggregator::End(Member& member, const std::string& why) {
  if (member.attempt != nullptr) member.attempt->Lose(member.position, StrCat("it is gone: ", why));
  member.attempt.reset();
  member.channel.Send(FrameKind::kRefusal, 0, 0, TextToBytes(why));
  member.name.clear();
  member.ending = true;
  member.since = Clock::now();
}

absl::Status Aggregator::TakeHello(int id, Member& member, const Frame& frame) {
  absl::StatusOr<Hello> hello = HelloFromBytes(frame.body);
  if (!hello.ok()) {
    Refuse(member, std::string(hello.status().message()));
    return absl::OkStatus();
  }
  member.name = hello->name;
  const std::string protection = protector_.ToString();
  if (hello->protection != protection) {
    Refuse(member,
           StrCat("its updates have ", hello->protection, ", this federation's ", protection));
    return absl::OkStatus();
  }
  if (hello->model != options_.model) {
    Refuse(member, hello->model.values == options_.model.values
                       ? "its network differs from the aggregator's in layers, options or format"
                       : StrCat("its network has ", hello->model.values,
                                " numbers, the aggregator's ", options_.model.values));
    return absl::OkStatus();
  }
  const bool shared = protector_.protection() == Protection::kSharedKey;
  member.key = shared ? hello->key : KeyName{};
  if (state_.from.encrypted && member.key != state_.key) {
    Refuse(member, "it has another key than this federation's clients");
    return absl::OkStatus();
  }
  for (auto& [other_id, other] : members_) {
    if (other_id == id || other.name != hello->name) continue;
    Say(StrCat("client ", other.name, " has come again, by another connection"));
    End(other, StrCat("another client has come under the name ", other.name,
                      "; each needs a name of its own"));
    break;
  }
  member.samples = hello->samples;
  const federation::Welcome welcome = {.nonce = nonce_,
                                       .alive_ms = uint32_t(options_.timeout.count() / 4)};
  member.channel.Send(FrameKind::kWelcome, 0, 0, ToBytes(welcome));
  Say(StrCat("client ", member.name, " is there, with ", member.samples, " samples"));
  if (member.key != Key()) {
    Warn(StrCat("client ", member.name, " has another key than most; only those of one key can ",
                "take part"));
  }
  return absl::OkStatus();
}

KeyName Aggregator::Key() const {
  if (state_.from.encrypted) return state_.key;
  std::map<KeyName, int> counts;
  for (const auto& [id, member] : members_) {
    if (!member.name.empty()) ++counts[member.key];
  }
  const auto most = std::ranges::max_element(
      counts, {}, [](const auto& key_and_count) { return key_and_count.second; });
  return most == counts.end() ? KeyName{} : most->first;
}

void Aggregator::Remove(int id, const std::string& why) {
  const auto place = members_.find(id);
  Member& member = place->second;
  if (member.attempt != nullptr) member.attempt->Lose(member.position, StrCat("it is gone: ", why));
  if (!member.name.empty()) {
    Say(StrCat("client ", member.name, " has left: ", why));
  } else if (!member.ending) {
    Warn(StrCat("refused: ", member.channel.address(), ": ", why));
  }
  sent_ += member.channel.bytes_sent();
  received_ += member.channel.bytes_received();
  members_.erase(place);
}

// In the order of names, so that the choice is a function of who is there.
std::vector<int> Aggregator::Idle() const {
  std::vector<int> idle;
  const KeyName key = Key();
  for (const auto& [id, member] : members_) {
    if (!member.name.empty() && member.attempt == nullptr && member.key == key &&
        !excluded_.contains(member.name)) {
      idle.push_back(id);
    }
  }
  std::ranges::sort(idle, {}, [this](int id) { return members_.at(id).name; });
  return idle;
}

std::vector<int> Aggregator::Choose() {
  std::vector<int> idle = Idle();
  if (idle.size() < min_clients_) return {};
  const auto losses = [this](int id) {
    const auto lost = losses_.find(members_.at(id).name);
    return lost == losses_.end() || lost->second < kManyLosses ? 0 : lost->second;
  };
  std::ranges::stable_sort(idle, {}, losses);
  const auto steady = size_t(std::ranges::count(idle, 0, losses));
  idle.resize(std::max(steady, min_clients_));
  const auto share = size_t(std::ceil(options_.client_fraction * double(idle.size()) - 1e-9));
  const size_t wanted = std::clamp<size_t>(share, min_clients_, kMostParticipants);
  // The first of a shuffled list.
  const Philox random(options_.seed, StreamId(RandomPurpose::kShuffle, state_.attempts));
  for (size_t i = 0; i + 1 < idle.size() && i < wanted; ++i) {
    std::swap(idle[i], idle[i + random.Below(i, uint32_t(idle.size() - i))]);
  }
  sampling_ = std::min(1.0, double(wanted) / double(idle.size()));
  idle.resize(std::min(idle.size(), wanted));
  std::ranges::sort(idle, {}, [this](int id) { return members_.at(id).name; });
  return idle;
}

absl::StatusOr<std::vector<SharedBytes>> Aggregator::ParameterBodies() const {
  std::vector<SharedBytes> bodies;
  if (state_.from.encrypted) {
    for (const Bytes& chunk : state_.encrypted)
      bodies.push_back(std::make_shared<const Bytes>(chunk));
    return bodies;
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<codec::ClientCodec> codec,
                        codec::PlainClient(codec::WireType::kFloat32, kParameterChunk));
  for (size_t at = 0; at < state_.parameters.size(); at += kParameterChunk) {
    const size_t count = std::min(kParameterChunk, state_.parameters.size() - at);
    DTNN_ASSIGN_OR_RETURN(Bytes body,
                          codec->Encode({.chunk = uint32_t(at / kParameterChunk)},
                                        std::span(state_.parameters).subspan(at, count)));
    bodies.push_back(std::make_shared<const Bytes>(std::move(body)));
  }
  return bodies;
}

void Aggregator::SendParameters(Member& member, const RoundStart& start,
                                const std::vector<SharedBytes>& bodies) {
  const uint64_t attempt = start.over ? 0 : state_.attempts;
  member.channel.Send(FrameKind::kRound, attempt, 0, ToBytes(start));
  for (size_t i = 0; i < bodies.size(); ++i) {
    member.channel.Send(FrameKind::kParameters, attempt, uint32_t(i), bodies[i]);
  }
}

absl::StatusOr<std::shared_ptr<Attempt>> Aggregator::RunAttempt(const std::vector<int>& chosen) {
  ++state_.attempts;
  std::vector<int64_t> samples;
  for (const int id : chosen) samples.push_back(members_.at(id).samples);
  const std::vector<double> factors = ClientFactors(options_.strategy.strategy, samples);
  std::vector<Asked> asked;
  for (size_t i = 0; i < chosen.size(); ++i) {
    asked.push_back(
        {.name = members_.at(chosen[i]).name, .samples = samples[i], .factor = factors[i]});
  }
  DTNN_ASSIGN_OR_RETURN(const Secret job, secret_.Derive(kTagPurpose, nonce_));
  const auto send = [this, chosen](int position, FrameKind kind, uint32_t index, SharedBytes body) {
    const auto member = members_.find(chosen[size_t(position)]);
    if (member == members_.end()) return;
    member->second.channel.Send(kind, state_.attempts, index, std::move(body));
  };
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Attempt> attempt,
                        Attempt::Create({.number = state_.attempts,
                                         .nonce = nonce_,
                                         .quorum = options_.min_clients,
                                         .deadline = options_.deadline,
                                         .max_update_norm = options_.max_update_norm},
                                        protector_, job, size_t(options_.model.values),
                                        state_.parameters, asked, send));
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies, ParameterBodies());
  for (size_t i = 0; i < chosen.size(); ++i) {
    Member& member = members_.at(chosen[i]);
    member.attempt = attempt;
    member.position = int(i);
    const bool proximal = options_.strategy.strategy == Strategy::kFedprox;
    SendParameters(member,
                   {.round = state_.rounds_done + 1,
                    .rounds = options_.rounds,
                    .position = uint32_t(i),
                    .participants = uint32_t(chosen.size()),
                    .quorum = uint32_t(min_clients_),
                    .factor = factors[i],
                    .proximal = proximal ? options_.strategy.proximal : 0,
                    .deadline = std::chrono::duration<double>(options_.deadline).count(),
                    .parameters = state_.from},
                   bodies);
  }
  current_ = attempt;
  std::set<std::string> told;
  while (true) {
    attempt->Advance(Clock::now());
    for (const Asked& client : attempt->asked()) {
      if (client.why.empty() || !told.insert(client.name).second) continue;
      const bool used = client.state == Asked::State::kAccepted;
      Warn(StrCat("round ", state_.rounds_done + 1, ": client ", client.name,
                  used ? " does wrong, but its update is used: " : " is left out: ", client.why));
    }
    if (attempt->over()) return attempt;
    DTNN_RETURN_IF_ERROR(Turn(attempt->next()));
  }
}

void Aggregator::CountLosses(const Attempt& attempt) {
  for (const Asked& asked : attempt.asked()) {
    if (asked.at_fault) excluded_.insert(asked.name);
    const bool lost = asked.state == Asked::State::kLeftOut || asked.disputed;
    if (lost && !asked.at_fault) ++losses_[asked.name];
  }
}

void Aggregator::TellVerdicts(const Attempt& attempt, bool good) {
  for (auto& [id, member] : members_) {
    if (member.attempt.get() != &attempt) continue;
    const Asked& asked = attempt.asked()[size_t(member.position)];
    const bool accepted = good && asked.state == Asked::State::kAccepted;
    const federation::Verdict verdict = {.accepted = accepted,
                                         .text = accepted            ? ""
                                                 : asked.why.empty() ? "the round is tried again"
                                                                     : asked.why};
    member.channel.Send(FrameKind::kVerdict, state_.attempts, 0, ToBytes(verdict));
    // The others answer that they know it, or with what they have sent already.
    if (attempt.answered(member.position)) member.Answered();
  }
}

// What an attempt has told of a client, whether it came to an end or not.
void Aggregator::Account(const Attempt& attempt) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!privacy.on()) return;
  const bool reads_updates = protector_.protection() == Protection::kNone;
  if (reads_updates) state_.privacy.AddUpdates(privacy);
  if (!attempt.failure().ok()) return;
  const int asked = int(attempt.asked().size());
  const int accepted =
      int(std::ranges::count(attempt.asked(), Asked::State::kAccepted, &Asked::state));
  state_.privacy.AddSum(privacy, accepted, protector_.together(options_.min_clients, asked),
                        sampling_, protector_.readable() && !reads_updates);
}

absl::Status Aggregator::FinishRound(const Attempt& attempt, Clock::time_point begin, uint64_t sent,
                                     uint64_t received) {
  if (protector_.readable()) {
    Follow(options_.strategy, attempt.average(), size_t(options_.model.trainable), state_.moments,
           state_.parameters);
    if (!std::ranges::all_of(state_.parameters, [](float x) { return std::isfinite(x); })) {
      return absl::DataLossError(
          StrCat("round ", state_.rounds_done + 1,
                 ": the parameters are no longer finite; lower the strategy's learning rate"));
    }
  } else {
    state_.encrypted = attempt.encrypted();
    state_.parameters.clear();
    state_.key = round_key_;
    for (auto& [id, member] : members_) {
      if (!member.name.empty() && member.key != state_.key) {
        Refuse(member, "it has another key than the clients of the first round");
      }
    }
    state_.from = {.encrypted = true,
                   .attempt = state_.attempts,
                   .nonce = nonce_,
                   .clients = uint32_t(attempt.asked().size()),
                   .divisor = attempt.divisor()};
  }
  ++state_.rounds_done;
  RoundRecord record = {.round = state_.rounds_done,
                        .attempts = state_.attempts - attempts_before_,
                        .seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                        .bytes_sent = sent,
                        .bytes_received = received,
                        .clients = attempt.asked()};
  if (protector_.privacy().on()) {
    const double delta = protector_.privacy().delta;
    record.epsilons = {.model = state_.privacy.model().Epsilon(delta),
                       .aggregator = state_.privacy.aggregator().Epsilon(delta)};
  }
  std::map<std::string, std::pair<double, int>> sums;
  int accepted = 0;
  for (const Asked& asked : record.clients) {
    if (asked.state != Asked::State::kAccepted) continue;
    ++accepted;
    record.samples += asked.report.samples;
    for (const auto& [name, value] : asked.report.metrics) {
      sums[name].first += value * double(asked.report.samples);
      ++sums[name].second;
    }
  }
  for (const Asked& asked : record.clients) {  // in the order in which clients name them
    if (asked.state != Asked::State::kAccepted) continue;
    for (const auto& [name, value] : asked.report.metrics) {
      const auto sum = sums.find(name);
      if (sum == sums.end() || sum->second.second != accepted) continue;
      record.metrics.emplace_back(name, sum->second.first / double(record.samples));
      sums.erase(sum);
    }
  }
  return options_.round_done ? options_.round_done(record, state_) : absl::OkStatus();
}

absl::Status Aggregator::RunRound() {
  excluded_.clear();
  losses_.clear();
  attempts_before_ = state_.attempts;
  Clock::time_point waits_since = Clock::now();
  bool warned = false;
  milliseconds pause = kPauseFirst;
  while (state_.attempts - attempts_before_ < kMostAttempts) {
    const std::vector<int> chosen = Choose();
    if (chosen.empty()) {
      const Clock::time_point now = Clock::now();
      const auto there = Idle().size();
      if (now - waits_since > options_.timeout) {
        return Unavailable("round ", state_.rounds_done + 1, ": after ", ToString(options_.timeout),
                           " only ", there, " of ", options_.min_clients,
                           " clients are there that can be asked");
      }
      if (!warned && now - waits_since > options_.timeout / 5) {
        warned = true;
        Warn(StrCat("round ", state_.rounds_done + 1, ": waits for clients; ", there, " of ",
                    options_.min_clients, " are there"));
      }
      DTNN_RETURN_IF_ERROR(Turn(now + kLongestSleep));
      continue;
    }
    const auto bytes = [this] {
      std::pair<uint64_t, uint64_t> sum = {sent_, received_};
      for (const auto& [id, member] : members_) {
        sum.first += member.channel.bytes_sent();
        sum.second += member.channel.bytes_received();
      }
      return sum;
    };
    const auto [sent, received] = bytes();
    round_key_ = members_.at(chosen[0]).key;
    const Clock::time_point begin = Clock::now();
    DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Attempt> attempt, RunAttempt(chosen));
    CountLosses(*attempt);
    Account(*attempt);
    TellVerdicts(*attempt, attempt->failure().ok());
    current_.reset();
    if (attempt->failure().ok()) {
      const auto [sent_now, received_now] = bytes();
      const absl::Status finished =
          FinishRound(*attempt, begin, sent_now - sent, received_now - received);
      attempt->Forget();
      return finished;
    }
    Warn(StrCat("round ", state_.rounds_done + 1, ": ", attempt->failure().message(),
                "; it is tried again"));
    waits_since = Clock::now();
    warned = false;
    const Clock::time_point again = waits_since + pause;
    pause = std::min(2 * pause, kPauseLast);
    while (Clock::now() < again) DTNN_RETURN_IF_ERROR(Turn(again));
  }
  return Unavailable("round ", state_.rounds_done + 1, ": gave up after ", kMostAttempts,
                     " attempts");
}

absl::Status Aggregator::SayFarewell() {
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies, ParameterBodies());
  std::set<int> told;
  bool busy = false;
  for (const auto& [id, member] : members_) busy |= member.attempt != nullptr;
  const Clock::time_point end =
      Clock::now() + kFarewell + (busy ? options_.deadline : milliseconds(0));
  do {  // also those who come now
    for (auto& [id, member] : members_) {
      if (member.name.empty() || !told.insert(id).second) continue;
      SendParameters(member,
                     {.over = true,
                      .round = state_.rounds_done,
                      .rounds = options_.rounds,
                      .parameters = state_.from},
                     bodies);
    }
    // A connection that is closed with bytes unread may take what was sent with it: clients go
    // first.
    DTNN_RETURN_IF_ERROR(Turn(end));
  } while (!members_.empty() && Clock::now() < end);
  return absl::OkStatus();
}

absl::Status Aggregator::Run() {
  while (state_.rounds_done < options_.rounds) DTNN_RETURN_IF_ERROR(RunRound());
  return SayFarewell();
}

absl::Status Check(const AggregatorOptions& options, const FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options.strategy));
  const bool secure = options.protection.protection == Protection::kMasked ||
                      options.protection.protection == Protection::kThreshold;
  if (options.min_clients < (secure ? 2 : 1) || options.min_clients > kMostParticipants) {
    return InvalidArgument("a round of at least ", options.min_clients, " clients: expected ",
                           secure ? 2 : 1, " to ", kMostParticipants);
  }
  if (!(options.client_fraction > 0 && options.client_fraction <= 1)) {
    return InvalidArgument("a fraction of ", options.client_fraction,
                           " of the clients: expected more than 0, at most 1");
  }
  if (options.deadline.count() < 1 || options.timeout.count() < 1 || options.model.values < 1 ||
      options.model.trainable > options.model.values) {
    return absl::InvalidArgumentError("an aggregator needs a deadline, a timeout and a model");
  }
  if (options.protection.protection == Protection::kSharedKey && options.strategy.reads_average()) {
    return InvalidArgument("strategy ", Name(options.strategy.strategy),
                           " needs the average, which only clients can read where they share a "
                           "key");
  }
  if (options.max_update_norm > 0 && options.protection.protection != Protection::kNone) {
    return absl::InvalidArgumentError(
        "norms of updates cannot be limited where the aggregator cannot read updates");
  }
  if (!state.from.encrypted && state.parameters.size() != options.model.values) {
    return InvalidArgument("the state has ", state.parameters.size(), " parameters, the model ",
                           options.model.values);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunAggregator(const AggregatorOptions& options, const JobSecret& secret,
                           FederationState& state) {
  DTNN_RETURN_IF_ERROR(Check(options, state));
  DTNN_ASSIGN_OR_RETURN(Protector protector,
                        Protector::Create(options.protection, size_t(options.model.values)));
  if (state.from.encrypted &&
      state.encrypted.size() != protector.chunks(size_t(options.model.values))) {
    return InvalidArgument("the state has ", state.encrypted.size(), " encrypted chunks, expected ",
                           protector.chunks(size_t(options.model.values)));
  }
  Aggregator aggregator(options, secret, std::move(protector), state);
  DTNN_RETURN_IF_ERROR(aggregator.Open());
  return aggregator.Run();
}

}  // namespace dtnn::federation
