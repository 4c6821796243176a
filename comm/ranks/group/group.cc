#include "comm/ranks/group/group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// How often a coordinator asks all, however many ask it.
constexpr std::chrono::milliseconds kRound(50);

std::string NoAnswerOf(const std::vector<int>& ranks) {
  return StrCat(RankList(ranks), ", which ", ranks.size() > 1 ? "do" : "does",
                " not answer (dead or frozen)");
}

bool Has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

Group::Group(int32_t number, int rank, int size, const CommunicatorOptions& options, Send send)
    : number_(number),
      rank_(rank),
      size_(size),
      options_(options),
      send_(std::move(send)),
      sent_(size_t(size), 0),
      received_(size_t(size), 0),
      peers_(size_t(size)) {}

bool Group::departed(int rank) const { return peers_[size_t(rank)].left || Has(lost_, rank); }

std::shared_ptr<Operation> Group::Call(const Collective& call, std::string text) {
  auto operation = std::make_shared<Operation>();
  operation->call = call;
  int64_t& number = call.kind == CollectiveKind::kSend      ? sent_[size_t(call.root)]
                    : call.kind == CollectiveKind::kReceive ? received_[size_t(call.root)]
                                                            : calls_;
  operation->key = CallKey::Of(rank_, number++, call);
  operation->text =
      !text.empty() ? std::move(text) : StrCat(operation->key.ToString(), ", ", call.ToString());
  CheckDepartures(*operation);
  if (broken_.ok()) pending_.push_back(operation);
  return operation;
}

void Group::End(const Operation& operation) {
  // It is among the first: calls end about in the order in which they were made.
  const auto found =
      std::ranges::find_if(pending_, [&](const auto& other) { return other.get() == &operation; });
  if (found != pending_.end()) pending_.erase(found);
}

void Group::Fail(std::shared_ptr<Operation> operation, const absl::Status& why) {
  operation->failed = why;
  failed_ = std::move(operation);
}

bool Group::HasCalled(int peer, const CallKey& key) const {
  const Peer& p = peers_[size_t(peer)];
  return key.number < (!key.is_message() ? p.calls : key.from == peer ? p.sent : p.received);
}

void Group::CheckDepartures(const Operation& operation) {
  for (int peer = 0; peer < size_ && broken_.ok(); ++peer) {
    if (!peers_[size_t(peer)].left || !operation.key.concerns(peer) ||
        HasCalled(peer, operation.key)) {
      continue;
    }
    Break(Unavailable("rank ", peer, " left before ", operation.key.ToString(), ", which rank ",
                      rank_, " called: ", operation.call.ToString()),
          {peer});
  }
}

ControlMessage Group::Position(ControlMessage::Kind kind, int to) const {
  ControlMessage message;
  message.kind = kind;
  message.group = number_;
  message.calls = calls_;
  message.sent = sent_[size_t(to)];
  message.received = received_[size_t(to)];
  return message;
}

void Group::Receive(int from, const ControlMessage& message, Clock::time_point now) {
  if (has_left_) {
    const bool asks = message.kind == ControlMessage::Kind::kQuery ||
                      message.kind == ControlMessage::Kind::kSurvey;
    if (asks) return send_(from, Ending(ControlMessage::Kind::kLeave, from));  // it was lost
    if (idle()) return;
  }
  Peer& peer = peers_[size_t(from)];
  switch (message.kind) {
    case ControlMessage::Kind::kQuery:
      return send_(from, Position(ControlMessage::Kind::kAnswer, from));
    case ControlMessage::Kind::kSurvey:
      return Answer(from, message, now);
    case ControlMessage::Kind::kReport:
      peer.asked.reset();
      report_ = {.from = from, .at = now, .silent = message.lost, .late = message.late};
      return;
    case ControlMessage::Kind::kAbort:
      return BreakLike(message);
    case ControlMessage::Kind::kHeard:
    case ControlMessage::Kind::kHello:
      return;
    case ControlMessage::Kind::kLeave:
      peer.left = true;
      peer.departure_code = message.departure_code;
      // It may be faster than the message from the rank that broke the group.
      if (!message.status.ok()) BreakLike(message);
      [[fallthrough]];
    case ControlMessage::Kind::kAnswer:
      peer.asked.reset();
      // A datagram may overtake another.
      peer.calls = std::max(peer.calls, message.calls);
      peer.sent = std::max(peer.sent, message.sent);
      peer.received = std::max(peer.received, message.received);
  }
  if (!peer.left) return;
  for (size_t i = 0; i < pending_.size() && broken_.ok(); ++i) {
    CheckDepartures(*std::shared_ptr<Operation>(pending_[i]));
  }
}

void Group::SetBroken(const absl::Status& why, std::vector<int> lost) {
  broken_ = why;
  lost_ = std::move(lost);
  std::sort(lost_.begin(), lost_.end());
  pending_.clear();  // the transport has them still
  is_broken_ = true;
}

void Group::Break(const absl::Status& why, std::vector<int> lost) {
  if (!broken_.ok()) return;
  SetBroken(why, std::move(lost));
  SendToOthers(ControlMessage::Kind::kAbort);
}

ControlMessage Group::Ending(ControlMessage::Kind kind, int to) const {
  ControlMessage message = Position(kind, to);
  message.status = broken_;
  message.lost = lost_;
  message.departure_code = departure_code_;
  return message;
}

void Group::SendToOthers(ControlMessage::Kind kind) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && !peers_[size_t(peer)].left) send_(peer, Ending(kind, peer));
  }
}

void Group::BreakLike(const ControlMessage& message) {
  if (broken_.ok() && !message.status.ok()) SetBroken(message.status, message.lost);
}

void Group::Lose(int rank, const absl::Status& why) {
  Peer& peer = peers_[size_t(rank)];
  if (std::exchange(peer.left, true) || has_left_) return;
  Break(why, {rank});
}

void Group::Leave() {
  has_left_ = true;
  SendToOthers(ControlMessage::Kind::kLeave);
}

int Group::Coordinator() const {
  int rank = 0;
  while (rank != rank_ && peers_[size_t(rank)].left) ++rank;
  return rank;
}

void Group::AskOne(int peer, Clock::time_point now) {
  Peer& p = peers_[size_t(peer)];
  if (peer == rank_ || p.left) return;
  if (!p.asked) p.asked = now;
  send_(peer, Position(ControlMessage::Kind::kQuery, peer));
}

bool Group::IsSilent(int rank, Clock::time_point now, Clock::duration silent_for) const {
  const Peer& p = peers_[size_t(rank)];
  return !p.left && p.asked && now - *p.asked >= silent_for;
}

void Group::QueryAll(Clock::time_point now) {
  if (asked_all_ && now - *asked_all_ < kRound) return;
  asked_all_ = now;
  for (int peer = 0; peer < size_; ++peer) AskOne(peer, now);
}

void Group::Ask(const Operation& operation, Clock::time_point now, Clock::time_point since,
                Clock::time_point until) {
  if (operation.key.is_message()) {
    return AskOne(operation.key.from == rank_ ? operation.key.to : operation.key.from, now);
  }
  const int coordinator = Coordinator();
  if (coordinator == rank_) return QueryAll(now);
  ControlMessage survey = Position(ControlMessage::Kind::kSurvey, coordinator);
  survey.calls = operation.key.number;
  survey.silent_for = std::chrono::duration_cast<std::chrono::milliseconds>((now - since) / 2);
  Peer& p = peers_[size_t(coordinator)];
  if (!p.asked) p.asked = now;
  send_(coordinator, survey);
  const bool heard = report_ && report_->at >= since;
  if (now - (heard ? report_->at : since) >= (until - since) / 4) QueryAll(now);
}

void Group::Answer(int from, const ControlMessage& survey, Clock::time_point now) {
  const CallKey key = {.number = survey.calls};
  Found found = Look(key, now, survey.silent_for);
  if (calls_ <= survey.calls) found.late.push_back(rank_);
  std::sort(found.late.begin(), found.late.end());
  ControlMessage report = Position(ControlMessage::Kind::kReport, from);
  report.lost = std::move(found.silent);
  report.late = std::move(found.late);
  send_(from, report);
  QueryAll(now);  // for the next report
}

Group::Found Group::Look(const CallKey& key, Clock::time_point now,
                         Clock::duration silent_for) const {
  Found found;
  for (int peer = 0; peer < size_; ++peer) {
    const Peer& p = peers_[size_t(peer)];
    if (peer == rank_ || p.left || !key.concerns(peer)) continue;
    if (IsSilent(peer, now, silent_for)) {
      found.silent.push_back(peer);
    } else if (!HasCalled(peer, key)) {
      found.late.push_back(peer);
    }
  }
  return found;
}

Group::Found Group::LookOrReport(const Operation& operation, Clock::time_point now,
                                 Clock::time_point since) const {
  Found found = Look(operation.key, now, (now - since) / 2);
  if (operation.key.is_message() || !report_ || report_->from != Coordinator() ||
      report_->at < now - (now - since) / 2) {
    return found;
  }
  found = {.silent = report_->silent, .late = report_->late};
  for (std::vector<int>* ranks : {&found.silent, &found.late}) {
    std::erase_if(*ranks, [this](int rank) { return rank == rank_; });
  }
  return found;
}

Group::Absence Group::Silent(const Operation& operation, Clock::time_point now,
                             Clock::time_point since) const {
  Absence absence;
  absence.ranks = LookOrReport(operation, now, since).silent;
  if (!absence.ranks.empty()) absence.text = NoAnswerOf(absence.ranks);
  return absence;
}

Group::Absence Group::Missing(const Operation& operation, Clock::time_point now,
                              Clock::time_point since) const {
  Absence absence;
  const auto [silent, late] = LookOrReport(operation, now, since);
  std::vector<std::string> parts;
  if (!late.empty()) parts.push_back(StrCat(RankList(late), ", which did not call it"));
  if (!silent.empty()) parts.push_back(NoAnswerOf(silent));
  absence.text = absl::StrJoin(parts, ", and for ");
  absence.ranks = late;
  absence.ranks.insert(absence.ranks.end(), silent.begin(), silent.end());
  return absence;
}

}  // namespace dtnn
