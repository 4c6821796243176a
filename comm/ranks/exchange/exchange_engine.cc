#include "comm/ranks/exchange/exchange_engine.h"

#include <immintrin.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>

#include "comm/call_key.h"
#include "comm/ranks/exchange/schedule.h"
#include "comm/transport/stream.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

// Callers move the bytes of shorter calls themselves: these gain from it.
constexpr int64_t kShortBytes = 8 << 20;
// So long a caller looks for bytes that poll does not see, before it sleeps: about what it takes to
// wake it.
constexpr std::chrono::microseconds kSpin(20);

// Whether the caller takes over for it.
bool IsShort(const Collective& call) {
  const auto is_short = [](const Tensor& tensor) {
    return tensor.empty() || tensor.num_elements() * int64_t(SizeOf(tensor.dtype())) < kShortBytes;
  };
  return is_short(call.input) && is_short(call.output);
}

}  // namespace

ExchangeEngine::ExchangeEngine(Mesh mesh)
    : GroupEngine(mesh.place),
      door_(std::move(mesh.door)),
      slices_pay_from_(SlicesPayFrom(mesh.nodes)) {
  const RankPlace& here = place();
  for (int peer = 0; peer < here.size; ++peer) {
    Link& link = mesh.links[size_t(peer)];
    connections_.push_back(
        link.stream == nullptr
            ? nullptr
            : std::make_unique<Connection>(
                  here.rank, peer, here.size, std::move(link),
                  [this](int from, const ControlMessage& message) { Receive(from, message); }));
  }
  if (owner_.status().ok()) thread_ = std::thread([this] { Run(); });
}

ExchangeEngine::~ExchangeEngine() {
  {
    std::lock_guard lock(tasks_mutex_);
    stop_ = true;
    owner_.Wake();
  }
  if (thread_.joinable()) thread_.join();
}

void ExchangeEngine::Post(std::function<void()> task, bool waits) {
  std::lock_guard lock(tasks_mutex_);
  tasks_.push_back(std::move(task));
  if (!waits) owner_.Wake();
}

void ExchangeEngine::Send(int to, const ControlMessage& message) {
  std::lock_guard lock(tasks_mutex_);
  messages_.emplace_back(to, message);
  owner_.Wake();
}

bool ExchangeEngine::TakeOver(const Operation& operation) {
  if (!IsShort(operation.call)) return false;
  std::lock_guard lock(tasks_mutex_);
  if (!owner_.TakeOver()) {
    if (!tasks_.empty()) owner_.Wake();
    return false;
  }
  moved_ |= !tasks_.empty() || !messages_.empty();  // does not sleep before they are done
  return true;
}

void ExchangeEngine::HandBack() {
  bool needed = !calls_.empty();
  for (const std::unique_ptr<Connection>& connection : connections_) {
    needed |= connection != nullptr && !connection->flushed();
  }
  std::lock_guard lock(tasks_mutex_);
  owner_.HandBack(needed || !tasks_.empty() || !messages_.empty());
}

absl::StatusOr<std::shared_ptr<Group>> ExchangeEngine::CreateGroup(
    const CommunicatorOptions& options, const ExchangeOptions& own) {
  DTNN_RETURN_IF_ERROR(owner_.status());
  const std::shared_ptr<Group> group = NewGroup(options);
  absl::Status broken;
  const std::shared_ptr<Operation> operation =
      CallOfAll({.timeout = options.timeout}, "the start of communication", broken);
  if (operation == nullptr) return broken;
  ExchangeOptions of_group = own;
  of_group.check_calls = options.check_calls || own.sums_in_rank_order;
  Post([this, number = group->number(), of_group] { options_[number] = of_group; });
  if (place().size > 1) {
    Carry(all(), operation);
    DTNN_RETURN_IF_ERROR(AwaitOfAll(*operation, options));
  }
  return group;
}

absl::Status ExchangeEngine::Meet(const CommunicatorOptions& options) {
  DTNN_RETURN_IF_ERROR(owner_.status());
  absl::Status broken;
  const std::shared_ptr<Operation> operation =
      CallOfAll({.timeout = options.timeout}, "the end of the job", broken);
  if (operation == nullptr) return broken;
  if (place().size > 1) {
    Carry(all(), operation);
    DTNN_RETURN_IF_ERROR(AwaitOfAll(*operation, options));
  }
  return absl::OkStatus();
}

void ExchangeEngine::Close(Clock::time_point end) {
  if (!thread_.joinable()) return;  // nothing was begun
  Leave(all());  // with what broke it: others may not have heard of it from anybody else yet
  std::unique_lock lock(tasks_mutex_);
  closing_ = true;
  owner_.Wake();
  closed_changed_.wait_until(lock, end, [this] { return closed_; });
}

void ExchangeEngine::Carry(const std::shared_ptr<Group>& group,
                           std::shared_ptr<Operation> operation) {
  const bool waits = operation->call.waits_at_once && IsShort(operation->call);
  const auto begin = [this, group, operation = std::move(operation)] {
    Begin(std::make_shared<ExchangeCall>(place().rank, place().size, slices_pay_from_,
                                         options_[group->number()], group, operation));
  };
  Post(begin, waits);
}

void ExchangeEngine::Release(const std::shared_ptr<Group>& group) {
  Post([this, number = group->number()] { options_.erase(number); });
}

void ExchangeEngine::TakeTasks() {
  std::vector<std::function<void()>> tasks;
  std::vector<std::pair<int, ControlMessage>> messages;
  {
    std::lock_guard lock(tasks_mutex_);
    tasks.swap(tasks_);
    messages.swap(messages_);
  }
  for (const std::function<void()>& task : tasks) task();
  for (const auto& [to, message] : messages) {
    if (connections_[size_t(to)] != nullptr) connections_[size_t(to)]->Send(message);
  }
}

void ExchangeEngine::LosePeer(int peer, const absl::Status& why) {
  const std::string address = connections_[size_t(peer)]->address();
  connections_[size_t(peer)] = nullptr;
  const std::string who = StrCat("rank ", peer, " at ", address);
  Lose(peer, absl::IsOutOfRange(why)
                 ? Unavailable(who,
                               " is gone: its process ended, or was killed, while others still "
                               "needed it; its own messages say more")
                 : Unavailable("the connection to ", who, " broke: ", why.message()));
}

int ExchangeEngine::PollTime(Clock::time_point end) const {
  if (moved_) return 0;
  if (door_ != nullptr) end = std::min(end, door_->next());
  if (end == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

bool ExchangeEngine::ReadyUnpolled(Clock::time_point end, bool of_caller) {
  std::vector<Unpolled*> watched;
  for (const std::unique_ptr<Connection>& connection : connections_) {
    Unpolled* const unpolled = connection == nullptr ? nullptr : connection->unpolled();
    if (unpolled == nullptr) continue;
    if (unpolled->ready()) return true;
    watched.push_back(unpolled);
  }
  if (watched.empty()) return false;
  if (of_caller) {
    for (Unpolled* const unpolled : watched) unpolled->Unwatch();
    const Clock::time_point spun = std::min(end, Clock::now() + kSpin);
    do {
      for (Unpolled* const unpolled : watched) {
        if (unpolled->ready()) return true;
      }
      _mm_pause();
    } while (Clock::now() < spun);
  }
  bool ready = false;
  for (Unpolled* const unpolled : watched) ready |= unpolled->Watch();
  return ready;
}

bool ExchangeEngine::Turn(Clock::time_point end, bool of_caller) {
  std::vector<pollfd> descriptors = {{owner_.descriptor(), POLLIN, 0}};
  std::vector<int> peers = {-1};
  for (size_t peer = 0; peer < connections_.size(); ++peer) {
    if (connections_[peer] == nullptr) continue;
    descriptors.push_back({connections_[peer]->descriptor(), connections_[peer]->events(), 0});
    peers.push_back(int(peer));
  }
  const size_t callers = descriptors.size();
  if (door_ != nullptr) door_->AddTo(descriptors);
  if (!moved_) moved_ = ReadyUnpolled(end, of_caller);
  const int time = PollTime(end);
  const bool sleeps = !of_caller && time != 0;
  if (sleeps) {
    std::lock_guard lock(tasks_mutex_);
    owner_.FallAsleep();
  }
  poll(descriptors.data(), descriptors.size(), time);
  if (sleeps) {
    std::lock_guard lock(tasks_mutex_);
    if (!owner_.WakeUp()) return false;
  }
  moved_ = false;
  if (descriptors[0].revents != 0) owner_.TakeWake();
  TakeTasks();
  // All ranks are there: the door answers later callers, for as long as it works.
  if (door_ != nullptr && !door_->Turn(std::span(descriptors).subspan(callers)).ok()) {
    door_ = nullptr;
  }
  for (size_t i = 1; i < peers.size(); ++i) {
    Connection& connection = *connections_[size_t(peers[i])];
    Unpolled* const unpolled = connection.unpolled();
    if (unpolled != nullptr && unpolled->ready()) descriptors[i].revents |= POLLIN;
    if (descriptors[i].revents == 0 && !connection.may_hold_bytes()) continue;
    const absl::StatusOr<bool> more = connection.Read();
    if (!more.ok()) {
      LosePeer(peers[i], more.status());
    } else {
      moved_ |= *more;
    }
  }
  Sweep();
  for (size_t i = 1; i < peers.size(); ++i) {
    Connection* const connection = connections_[size_t(peers[i])].get();
    if (connection == nullptr) continue;
    if (connection->blocked(descriptors[i].revents)) continue;
    moved_ |= connection->Write();
  }
  Sweep();
  return true;
}

void ExchangeEngine::Run() {
  bool said_all = false;
  std::unique_lock lock(tasks_mutex_);
  while (true) {
    moved_ |= owner_.Acquire(lock);
    lock.unlock();
    const bool moved = Turn(Clock::time_point::max(), /*of_caller=*/false);
    lock.lock();
    if (stop_) return;
    if (!moved) continue;
    if (!closing_ || !messages_.empty() || !tasks_.empty()) continue;
    door_ = nullptr;
    // What others have sent is read to its end: a connection that is closed before loses what it
    // has not yet carried.
    bool closed = true, flushed = true;
    for (const std::unique_ptr<Connection>& connection : connections_) {
      if (connection == nullptr) continue;
      closed = false;
      flushed &= connection->flushed();
    }
    if (flushed && !std::exchange(said_all, true)) {
      for (const std::unique_ptr<Connection>& connection : connections_) {
        if (connection != nullptr) connection->CloseWriting();
      }
    }
    if (closed && !std::exchange(closed_, true)) closed_changed_.notify_all();
  }
}

// Hands the pieces of the exchange to the connections.
void ExchangeEngine::Connect(const CallPointer& call) {
  const std::shared_ptr<Running> running(call, call->running());
  for (size_t piece = 0; piece < running->schedule().size(); ++piece) {
    const Piece& p = running->schedule()[piece];
    Connection* const connection = connections_[size_t(p.peer)].get();
    if (connection == nullptr) continue;  // its group is broken, or breaks soon
    if (p.kind == Piece::Kind::kSend) {
      connection->Offer(running, piece);
    } else {
      connection->Expect(running, piece);
    }
  }
}

void ExchangeEngine::Forget(int32_t group) {
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection != nullptr) connection->Forget(group);
  }
}

ExchangeEngine::Order ExchangeEngine::OrderOf(const ExchangeCall& call) {
  const CallKey& key = call.operation()->key;
  return {call.group().number(), key.from, key.to};
}

void ExchangeEngine::Begin(const CallPointer& call) {
  Line& line = lines_[OrderOf(*call)];
  if (line.open == kMostOpenCalls) {
    line.waiting.push_back(call);
    return;
  }
  ++line.open;
  calls_.push_back(call);
}

void ExchangeEngine::End(const CallPointer& call) {
  const auto found = lines_.find(OrderOf(*call));
  Line& line = found->second;
  --line.open;
  if (!line.waiting.empty()) {
    Begin(line.waiting.front());
    line.waiting.pop_front();
  } else if (line.open == 0) {
    lines_.erase(found);
  }
}

bool ExchangeEngine::Advance(const CallPointer& call) {
  if (call->group().is_broken()) {
    Forget(call->group().number());
    return true;
  }
  if (call->failed()) return false;
  absl::Status status;
  if (const Running* const running = call->running(); running != nullptr) {
    status = WithContext(running->error(), call->operation()->text);
    if (status.ok() && !running->complete()) return false;
    moved_ = true;  // perhaps there is something to write
  }
  if (status.ok()) {
    const absl::StatusOr<bool> more = call->Next();
    if (more.ok() && *more) {
      Connect(call);
      return Advance(call);
    }
    status = more.status();
  }
  if (!status.ok()) call->Fail();
  Finish(call->group(), call->operation(), status, call->TakeGathered());
  return status.ok() || Advance(call);
}

void ExchangeEngine::Sweep() {
  for (auto at = calls_.begin(); at != calls_.end();) {
    if (!Advance(*at)) {
      ++at;
      continue;
    }
    End(*at);  // a call that follows comes to the end of the list
    at = calls_.erase(at);
  }
}

}  // namespace dtnn
