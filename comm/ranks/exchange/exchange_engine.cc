#include "comm/ranks/exchange/exchange_engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// Which signatures: all ranks', or the two of a message, by who wrote them.
constexpr uint32_t kTensors = 0, kOfAll = 1, kOfSender = 2, kOfReceiver = 3;

PieceKey KeyOf(const Group& group, const Operation& operation, uint32_t signature) {
  return {.group = group.number(),
          .number = operation.key.number,
          .is_message = operation.key.is_message() ? 1u : 0u,
          .signature = signature};
}

// Another process wrote it.
bool IsSignature(const CallSignature& signature) {
  return signature.kind <= CollectiveKind::kReceive && signature.op <= ReduceOp::kMax &&
         signature.dtype <= DType::kInt64;
}

}  // namespace

ExchangeEngine::ExchangeEngine(Mesh mesh)
    : GroupEngine(mesh.place),
      door_(std::move(mesh.door)),
      slices_pay_from_(SlicesPayFrom(mesh.nodes)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
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
  thread_ = std::thread([this] { Run(); });
}

ExchangeEngine::~ExchangeEngine() {
  {
    std::lock_guard lock(tasks_mutex_);
    stop_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

void ExchangeEngine::Post(std::function<void()> task) {
  {
    std::lock_guard lock(tasks_mutex_);
    tasks_.push_back(std::move(task));
  }
  eventfd_write(wake_, 1);
}

void ExchangeEngine::Send(int to, const ControlMessage& message) {
  {
    std::lock_guard lock(tasks_mutex_);
    messages_.emplace_back(to, message);
  }
  eventfd_write(wake_, 1);
}

absl::StatusOr<std::shared_ptr<Group>> ExchangeEngine::CreateGroup(
    const CommunicatorOptions& options, const ExchangeOptions& own) {
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
  Leave(all());  // with what broke it: others may not have heard of it from anybody else yet
  std::unique_lock lock(tasks_mutex_);
  closing_ = true;
  eventfd_write(wake_, 1);
  closed_changed_.wait_until(lock, end, [this] { return closed_; });
}

void ExchangeEngine::Carry(const std::shared_ptr<Group>& group,
                           std::shared_ptr<Operation> operation) {
  Post([this, group, operation = std::move(operation)] {
    calls_.push_back(std::make_shared<Call>(
        Call{.group = group, .operation = operation, .options = options_[group->number()]}));
    Begin(calls_.back());
  });
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

int ExchangeEngine::PollTime() {
  if (std::exchange(moved_, false)) return 0;
  if (door_ == nullptr || door_->next() == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(door_->next() - Clock::now());
  return int(std::max<int64_t>(0, left.count()));
}

void ExchangeEngine::MoveAll() {
  std::vector<pollfd> descriptors = {{wake_, POLLIN, 0}};
  std::vector<int> peers = {-1};
  for (size_t peer = 0; peer < connections_.size(); ++peer) {
    if (connections_[peer] == nullptr) continue;
    descriptors.push_back({connections_[peer]->descriptor(), connections_[peer]->events(), 0});
    peers.push_back(int(peer));
  }
  const size_t strangers = descriptors.size();
  if (door_ != nullptr) door_->AddTo(descriptors);
  poll(descriptors.data(), descriptors.size(), PollTime());
  eventfd_t ignored = 0;
  if (descriptors[0].revents != 0) eventfd_read(wake_, &ignored);
  TakeTasks();
  // All ranks are there: whoever comes is told so. Where not even that is possible, nobody is.
  if (door_ != nullptr && !door_->Turn(std::span(descriptors).subspan(strangers)).ok()) {
    door_ = nullptr;
  }
  for (size_t i = 1; i < peers.size(); ++i) {
    Connection& connection = *connections_[size_t(peers[i])];
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
}

void ExchangeEngine::Run() {
  bool said_all = false;
  while (true) {
    MoveAll();
    std::lock_guard lock(tasks_mutex_);
    if (stop_) return;
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

void ExchangeEngine::Begin(const CallPointer& call) {
  if (call->options.check_calls) return BeginSignatures(call);
  BeginTransfer(call);
}

void ExchangeEngine::Begin(const CallPointer& call, Schedule schedule, const CallMemory& memory,
                           uint32_t signature) {
  const Collective& collective = call->operation->call;
  const bool tensors = signature == kTensors && collective.kind != CollectiveKind::kBarrier;
  call->running = std::make_unique<Running>(KeyOf(*call->group, *call->operation, signature),
                                            std::move(schedule), memory, collective.op,
                                            tensors ? collective.input.dtype() : DType::kUint8);
  const std::shared_ptr<Running> running(call, call->running.get());
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

void ExchangeEngine::BeginSignatures(const CallPointer& call) {
  call->comparing = true;
  constexpr size_t kBytes = sizeof(CallSignature);
  const Collective& collective = call->operation->call;
  const CallSignature mine = collective.signature();
  const int rank = place().rank, size = place().size;
  if (!collective.between_two()) {
    call->memory.resize(size_t(size) * kBytes);
    std::memcpy(call->memory.data() + size_t(rank) * kBytes, &mine, kBytes);
    return Begin(call, MakeSchedule(CollectiveKind::kAllGather, rank, size, 0, kBytes, 1),
                 {.first = call->memory.data()}, kOfAll);
  }
  // The sender's first. Each piece has a key of its own, as a message in either direction.
  const bool sends = collective.kind == CollectiveKind::kSend;
  call->memory.resize(2 * kBytes);
  std::memcpy(call->memory.data() + (sends ? 0 : kBytes), &mine, kBytes);
  const auto piece = [&](Piece::Kind kind, size_t at, uint32_t tag) {
    return Piece{.kind = kind,
                 .peer = collective.root,
                 .begin = at * kBytes,
                 .end = (at + 1) * kBytes,
                 .tag = tag};
  };
  const Schedule schedule = {
      piece(sends ? Piece::Kind::kSend : Piece::Kind::kReceive, 0, kOfSender),
      piece(sends ? Piece::Kind::kReceive : Piece::Kind::kSend, 1, kOfReceiver)};
  Begin(call, schedule, {.first = call->memory.data()}, kOfAll);
}

absl::Status ExchangeEngine::Compare(const Call& call) const {
  std::vector<CallSignature> all(call.memory.size() / sizeof(CallSignature));
  std::memcpy(all.data(), call.memory.data(), call.memory.size());
  const CallKey& key = call.operation->key;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!IsSignature(all[i])) {
      return InvalidArgument(key.ToString(), ": another rank sent what is no call");
    }
    if (i == 0 || all[0].Fits(all[i])) continue;
    return CallsDiffer(key, key.is_message() ? key.from : 0, all[0],
                       key.is_message() ? key.to : int(i), all[i]);
  }
  return absl::OkStatus();
}

void ExchangeEngine::BeginTransfer(const CallPointer& call) {
  call->comparing = false;
  const Collective& collective = call->operation->call;
  const int rank = place().rank, size = place().size;
  CollectiveKind kind = collective.kind;
  if (kind == CollectiveKind::kBarrier) {
    call->memory.assign(BarrierBytes(size), {});
    return Begin(call, MakeSchedule(kind, rank, size, 0, 0, 1), {.first = call->memory.data()},
                 kTensors);
  }
  const size_t element = SizeOf(collective.input.dtype());
  const size_t bytes = size_t(collective.input.num_elements()) * element;
  std::byte* memory = collective.output.raw_data();
  if (kind == CollectiveKind::kAllReduce && call->options.sums_in_rank_order && bytes > 0) {
    absl::StatusOr<Tensor> gathered = Tensor::Allocate(Device::Cpu(), collective.input.dtype(),
                                                       {size, collective.input.num_elements()});
    if (!gathered.ok()) return FailToBegin(call, gathered.status());
    call->gathered = *std::move(gathered);
    memory = call->gathered.raw_data();
    kind = CollectiveKind::kAllGather;
  }
  const size_t slices_from = call->options.slices_from.value_or(slices_pay_from_);
  if (kind == CollectiveKind::kAllReduce && bytes >= std::max<size_t>(1, slices_from)) {
    return BeginSlices(call, bytes);
  }
  if (kind == CollectiveKind::kAllGather) {
    std::byte* const mine = memory + size_t(rank) * bytes;
    if (bytes > 0 && mine != collective.input.raw_data()) {
      std::memcpy(mine, collective.input.raw_data(), bytes);
    }
  }
  Begin(call, MakeSchedule(kind, rank, size, collective.root, bytes, element), {.first = memory},
        kTensors);
}

void ExchangeEngine::FailToBegin(const CallPointer& call, const absl::Status& why) {
  call->running = std::make_unique<Running>(PieceKey(), Schedule(), CallMemory(), ReduceOp::kSum,
                                            DType::kUint8);
  call->running->Fail(why);
}

void ExchangeEngine::BeginSlices(const CallPointer& call, size_t bytes) {
  const Tensor& tensor = call->operation->call.output;
  const int rank = place().rank, size = place().size;
  const size_t element = SizeOf(tensor.dtype());
  const size_t others =
      SliceOfRank(rank, size, bytes, element).bytes() / element * size_t(size - 1);
  absl::StatusOr<Tensor> slices =
      Tensor::Allocate(Device::Cpu(), tensor.dtype(), {std::max<int64_t>(1, int64_t(others))});
  if (!slices.ok()) return FailToBegin(call, slices.status());
  call->slices = *std::move(slices);
  call->exchanging = true;
  Begin(call, MakeSliceExchange(rank, size, bytes, element),
        {.first = tensor.raw_data(), .first_bytes = bytes, .second = call->slices.raw_data()},
        kTensors);
}

void ExchangeEngine::EndSlices(const CallPointer& call) {
  call->exchanging = false;
  const Collective& collective = call->operation->call;
  const Tensor& tensor = collective.output;
  const int rank = place().rank, size = place().size;
  const size_t element = SizeOf(tensor.dtype());
  const size_t bytes = size_t(tensor.num_elements()) * element;
  SumSlices(rank, size, collective.op, tensor.dtype(), bytes,
            {.first = tensor.raw_data(), .first_bytes = bytes, .second = call->slices.raw_data()});
  Begin(call, MakeSliceGather(rank, size, bytes, element), {.first = tensor.raw_data()}, kTensors);
}

void ExchangeEngine::Forget(int32_t group) {
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection != nullptr) connection->Forget(group);
  }
}

bool ExchangeEngine::Advance(const CallPointer& call) {
  if (call->group->is_broken()) {
    Forget(call->group->number());
    return true;
  }
  absl::Status status = WithContext(call->running->error(), call->operation->text);
  if (call->failed || (status.ok() && !call->running->complete())) return false;
  moved_ = true;  // perhaps there is something to write
  if (status.ok() && call->comparing) {
    status = Compare(*call);
    if (status.ok()) {
      BeginTransfer(call);
      return Advance(call);
    }
  } else if (status.ok() && call->exchanging) {
    EndSlices(call);
    return Advance(call);
  }
  call->failed = !status.ok();
  Finish(*call->group, call->operation, status, std::move(call->gathered));
  return status.ok() || Advance(call);
}

void ExchangeEngine::Sweep() {
  std::erase_if(calls_, [this](const CallPointer& call) { return Advance(call); });
}

}  // namespace dtnn
