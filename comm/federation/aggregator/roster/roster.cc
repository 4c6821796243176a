#include "comm/federation/aggregator/roster/roster.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "comm/federation/aggregator/attempt/receive_places.h"
#include "comm/federation/aggregator/roster/open_files.h"
#include "comm/wait.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostHello = 8 << 10, kMostSize = 8 << 10;
// Lines about the clients of one that is an aggregator are so far apart at least.
constexpr std::chrono::seconds kBetweenSizes(10);
constexpr milliseconds kLongestSleep(200);
// Connections beyond the most, to which the reason is said.
constexpr int64_t kMostRefused = 64;
// Buffers of so many connections do not fill the memory that Linux has for all, even where they
// grow to the megabytes that a fast and distant client needs.
constexpr uint64_t kManyConnections = 256;
// Frames of one client that are read before others have their turn.
constexpr int kFramesPerTurn = 16;

}  // namespace

absl::Status Roster::Open(const JobSecret& secret) {
  DTNN_RETURN_IF_ERROR(wakeup_.status());
  if (!options_.allowed_clients.empty()) {
    DTNN_ASSIGN_OR_RETURN(allowed_, AllowedClients::Read(options_.allowed_clients));
  }
  DTNN_ASSIGN_OR_RETURN(most_connections_,
                        ConnectionsThatFilesAllow(options_.max_connections, options_.min_clients,
                                                  options_.place.datagrams ? 2 : 1));
  DTNN_ASSIGN_OR_RETURN(door_, OpenDoor(options_.place, secret,
                                        {.timeout = options_.timeout,
                                         .warn_after = options_.timeout / 5,
                                         .warn = options_.warn,
                                         .interrupted = options_.interrupted}));
  return absl::OkStatus();
}

absl::Status Roster::Turn(Clock::time_point until) {
  DTNN_RETURN_IF_ERROR(options_.CheckInterrupt(state_.rounds_done));
  std::vector<pollfd> descriptors;
  door_->AddTo(descriptors);
  const size_t callers = descriptors.size();
  std::vector<Connection> connections;
  for (const auto& [id, member] : members_) {
    descriptors.push_back({member.channel.descriptor(), member.channel.events(), 0});
    connections.push_back({id, member.more || member.name.empty() || member.channel.waits()});
  }
  descriptors.push_back({wakeup_.descriptor(), POLLIN, 0});
  const Clock::time_point now = Clock::now();
  if (now >= follow_at_) {
    FollowAllowed();
    const auto [sent, received] = bytes();
    options_.Observer().OnTurn(sent, received);
  }
  const Clock::time_point wake = std::min({until, door_->next(), now + kLongestSleep});
  PollUntil(descriptors, std::exchange(look_again_, false) ? now : wake);
  if (descriptors.back().revents != 0) {
    wakeup_.Drain();
    look_again_ = true;  // what has happened may let clients continue that wait
  }
  DTNN_ASSIGN_OR_RETURN(std::vector<Caller> arrived,
                        door_->Advance(std::span(descriptors).first(callers), Clock::now()));
  std::string refused = door_->refused();
  if (!refused.empty() && refused != refused_) {
    refused_ = std::move(refused);
    LogRefusal(refusals_, refused_);
  }
  DTNN_RETURN_IF_ERROR(Welcome(std::move(arrived)));
  HearAll(connections, std::span(descriptors).subspan(callers));
  return absl::OkStatus();
}

void Roster::HearAll(std::span<const Connection> connections, std::span<const pollfd> polled) {
  bool heard = false, some_wait = false;
  for (size_t i = 0; i < connections.size(); ++i) {
    if (polled[i].revents == 0 && !connections[i].may_have_frames) continue;
    const auto place = members_.find(connections[i].id);
    if (place == members_.end()) continue;
    if (place->second.channel.waits() && (polled[i].revents & (POLLERR | POLLHUP)) != 0) {
      Remove(connections[i].id, "its connection broke while it waited");
      continue;
    }
    heard |= Hear(connections[i].id);
    const auto still = members_.find(connections[i].id);
    if (still == members_.end()) continue;
    look_again_ |= still->second.more;
    some_wait |= still->second.channel.waits();
  }
  look_again_ |= heard && some_wait;
}

absl::Status Roster::Welcome(std::vector<Caller> arrived) {
  const uint64_t places =
      ReceivePlaces::Count(options_.receive_bytes, size_t(options_.model.values) * sizeof(float));
  for (Caller& caller : arrived) {
    const auto has_place = [this](const auto& id_and_member) {
      return !allowed_ || id_and_member.second.identity_key;
    };
    const auto there = std::ranges::count_if(members_, has_place);
    const auto crowd = [this] {
      return StrCat("there are ", most_connections_,
                    " connections already, the most that the aggregator takes: its options say "
                    "how many, and the system's limit of open files (ulimit -n)");
    };
    if (there >= most_connections_ + kMostRefused) {
      LogRefusal(refusals_, StrCat(caller.address, ": ", crowd()));
      continue;
    }
    const int id = next_id_++;
    Member& member =
        members_.try_emplace(id, std::move(caller.stream), caller.address).first->second;
    member.channel.KeepUnsentShort();  // all get the parameters at the same time
    if (!options_.robust.on() && members_.size() > std::max(kManyConnections, places)) {
      member.channel.KeepBuffersShort();
    }
    if (there >= most_connections_) {
      LogRefusal(refusals_, StrCat(caller.address, ": ", crowd()));
      End(member, crowd(), kBusy);
    }
    MakePlace();
    if (!members_.contains(id)) continue;
    Hear(id);  // a stream may hold what poll does not know of
    const auto still = members_.find(id);
    look_again_ |= still != members_.end() && still->second.more;
  }
  const Clock::time_point now = Clock::now();
  if (!signs_of_life_ || now < alive_at_) return absl::OkStatus();
  alive_at_ = now + options_.timeout / 4;
  for (auto& [id, member] : members_) {
    if (!member.name.empty() && member.channel.flushed())
      member.channel.Send(FrameKind::kAlive, 0, 0);
  }
  return absl::OkStatus();
}

bool Roster::Hear(int id) {
  Member& member = members_.at(id);
  const uint64_t received = member.channel.bytes_received();
  const absl::StatusOr<bool> taken = TakeFrames(id, member);
  if (member.attempt != nullptr && member.channel.bytes_received() > received) {
    member.attempt->Hear(member.position);
  }
  absl::Status status = taken.status();
  // Its program has another version of frames: told in one of ours, it says so, too.
  if (absl::IsFailedPrecondition(status) && member.name.empty() && !member.ending) {
    Refuse(member, std::string(status.message()));
    status = absl::OkStatus();
  }
  if (status.ok()) status = member.channel.Write();
  if (status.ok() && member.ending && member.channel.flushed()) {
    status = absl::OutOfRangeError("it was refused");
  }
  if (status.ok() && member.name.empty() && Clock::now() > member.since + options_.hello_time) {
    status =
        Unavailable(member.ending ? "did not read why it was refused" : "did not say who it is");
  }
  if (!status.ok()) Remove(id, std::string(status.message()));
  return !taken.ok() || *taken;
}

absl::StatusOr<bool> Roster::TakeFrames(int id, Member& member) {
  const auto allowed = [&member](const FrameHeader& header) -> std::optional<size_t> {
    if (member.ending) return std::nullopt;
    if (member.name.empty()) {
      if (header.kind == FrameKind::kHello) return kMostHello;
      if (header.kind == FrameKind::kAsk) return 0;
      return member.identity.Allowed(header.kind);
    }
    if (header.kind == FrameKind::kSize && member.clients > 0) return kMostSize;
    if (member.attempt != nullptr) {
      const std::optional<size_t> most = member.attempt->Allowed(member.position, header);
      if (most) return most;
    }
    if (member.past == nullptr) return std::nullopt;
    return member.past->Allowed(member.past_position, header);
  };
  member.more = false;
  for (int turn = 0; turn < kFramesPerTurn; ++turn) {
    if (member.ending) return turn > 0;
    DTNN_ASSIGN_OR_RETURN(std::optional<Frame> frame, member.channel.Receive(allowed));
    if (!frame) return turn > 0;
    if (frame->header.kind == FrameKind::kAsk) {
      Answer(member);
      continue;
    }
    if (frame->header.kind == FrameKind::kIntroduce) {
      DTNN_RETURN_IF_ERROR(TakeIntroduction(member, *frame));
      continue;
    }
    if (frame->header.kind == FrameKind::kProof) {
      DTNN_RETURN_IF_ERROR(member.identity.TakeProof(frame->body));
      continue;
    }
    if (member.name.empty()) {
      DTNN_RETURN_IF_ERROR(TakeHello(id, member, *frame));
      continue;
    }
    if (frame->header.kind == FrameKind::kSize) {  // for the rounds that have not begun
      DTNN_ASSIGN_OR_RETURN(const GroupSize size, GroupSizeFromBytes(frame->body));
      if (IsAmong(size.aggregators)) {
        RefuseRing(member);
        continue;
      }
      member.aggregators = size.aggregators;
      member.clients = size.clients;
      member.samples = size.samples;
      options_.Observer().OnClient(member.name, member.samples);
      if (Clock::now() < member.size_said + kBetweenSizes) continue;
      member.size_said = Clock::now();
      options_.Say(StrCat("client ", member.name, " has ", size.samples, " samples of ",
                          size.clients, " clients now"));
      continue;
    }
    if (member.past != nullptr && frame->header.attempt == member.past->number()) {
      member.past->Take(member.past_position, *std::move(frame));
      continue;
    }
    // The rest of a frame may come after its question was taken back, or another was asked.
    const std::shared_ptr<Inquiry> attempt = member.attempt;
    if (attempt == nullptr || frame->header.attempt != attempt->number()) {
      return DataLoss("answers a question that it has not been asked");
    }
    attempt->Take(member.position, *std::move(frame));
    if (!attempt->over() || !attempt->answered(member.position)) continue;
    options_.Observer().OnLate(member.name);
    options_.Warn(StrCat("client ", member.name,
                         ": its answer came after its round was over, and is dropped"));
    member.Answered();
  }
  member.more = true;
  return true;
}

void Roster::Refuse(Member& member, const std::string& why) {
  LogRefusal(
      member.identity_key ? proved_refusals_ : refusals_,
      StrCat("client ", member.name.empty() ? member.channel.address() : member.name, ": ", why));
  End(member, why);
}

void Roster::LogRefusal(RefusalLog& log, const std::string& refusal) {
  options_.Observer().OnRefusal();
  const std::string line = log.Line(refusal, Clock::now());
  if (!line.empty()) options_.Warn(line);
}

void Roster::End(Member& member, const std::string& why, RefusalReason reason) {
  if (member.attempt != nullptr) member.attempt->Lose(member.position, StrCat("it is gone: ", why));
  member.attempt.reset();
  member.channel.Send(FrameKind::kRefusal, 0, reason, TextToBytes(why));
  ObserveGone(member);
  member.name.clear();
  member.ending = true;
  member.since = Clock::now();
}

void Roster::ObserveGone(Member& member) const {
  if (std::exchange(member.there, false)) options_.Observer().OnGone(member.name);
}

// To one that builds its network with it, and then comes by another connection.
void Roster::Answer(Member& member) {
  if (RefuseUnproved(member, member.identity.name())) return;
  member.channel.Send(FrameKind::kClasses, 0, 0, ToBytes(options_.classes));
  member.ending = true;
  member.since = Clock::now();
}

GroupSize Roster::Size() const {
  GroupSize size;
  std::set<RunNonce> behind;
  for (const auto& [id, member] : members_) {
    if (member.name.empty()) continue;
    behind.insert(member.aggregators.begin(), member.aggregators.end());
    if (!Fulfils(member)) continue;
    size.clients = std::min(kMostGroup, size.clients + std::max<int64_t>(1, member.clients));
    size.samples = std::min(kMostSamples, size.samples + member.samples);
  }
  size.aggregators = {nonce_};
  size.aggregators.insert(size.aggregators.end(), behind.begin(), behind.end());
  size.aggregators.resize(std::min(size.aggregators.size(), kMostAggregators));
  return size;
}

size_t Roster::CountUnfit() const {
  return size_t(std::ranges::count_if(members_, [this](const auto& id_and_member) {
    return !id_and_member.second.name.empty() && !Fulfils(id_and_member.second);
  }));
}

bool Roster::IsAmong(std::span<const RunNonce> aggregators) const {
  return std::ranges::find(aggregators, nonce_) != aggregators.end();
}

void Roster::RefuseRing(Member& member) {
  Refuse(member,
         "the aggregators are a ring: this one is behind its own client; one of them needs another "
         "parent, or none");
}

Hash Roster::NamesOfClasses() const {
  for (const auto& [id, member] : members_) {
    if (!member.name.empty() && member.class_names != Hash{}) return member.class_names;
  }
  return {};
}

KeyName Roster::Key() const {
  if (state_.from.encrypted) return state_.key;
  std::map<KeyName, int> counts;
  for (const auto& [id, member] : members_) {
    if (!member.name.empty()) ++counts[member.key];
  }
  const auto most = std::ranges::max_element(
      counts, {}, [](const auto& key_and_count) { return key_and_count.second; });
  return most == counts.end() ? KeyName{} : most->first;
}

void Roster::Remove(int id, const std::string& why) {
  const auto place = members_.find(id);
  Member& member = place->second;
  if (member.attempt != nullptr) member.attempt->Lose(member.position, StrCat("it is gone: ", why));
  ObserveGone(member);
  if (!member.name.empty()) {
    options_.Say(StrCat("client ", member.name, " has left: ", why));
  } else if (!member.ending) {
    LogRefusal(refusals_, StrCat(member.channel.address(), ": ", why));
  }
  sent_ += member.channel.bytes_sent();
  received_ += member.channel.bytes_received();
  members_.erase(place);
}

std::vector<int> Roster::Idle() const {
  std::vector<int> idle;
  const KeyName key = Key();
  for (const auto& [id, member] : members_) {
    if (!member.name.empty() && member.attempt == nullptr && member.key == key && Fulfils(member)) {
      idle.push_back(id);
    }
  }
  return idle;
}

void Roster::RefuseOtherKeys() {
  for (auto& [id, member] : members_) {
    if (!member.name.empty() && member.key != state_.key) {
      Refuse(member, "it has another key than the clients of the first round");
    }
  }
}

std::pair<uint64_t, uint64_t> Roster::bytes() const {
  std::pair<uint64_t, uint64_t> sum = {sent_, received_};
  for (const auto& [id, member] : members_) {
    sum.first += member.channel.bytes_sent();
    sum.second += member.channel.bytes_received();
  }
  return sum;
}

}  // namespace dtnn::federation
