#include "comm/mpi/engine.h"

#include <cstring>
#include <string>

#include "comm/mpi/control/departure_wait.h"
#include "comm/mpi/group_wait.h"
#include "comm/reduce_in_order.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// What messages on their way get at the end.
constexpr milliseconds kFlush(200);

// What a caller's own rank does for a call: alone, or the sum of what MPI has gathered.
void Complete(const Group& group, Operation& operation) {
  const Collective& call = operation.call;
  const size_t bytes = size_t(call.input.num_elements()) * SizeOf(call.input.dtype());
  if (group.size() == 1 && call.kind == CollectiveKind::kAllGather &&
      call.input.raw_data() != call.output.raw_data()) {
    std::memcpy(call.output.raw_data(), call.input.raw_data(), bytes);
  }
  if (operation.gathered.empty()) return;
  std::vector<const std::byte*> inputs;
  for (int rank = 0; rank < group.size(); ++rank) {
    inputs.push_back(operation.gathered.raw_data() + size_t(rank) * bytes);
  }
  std::byte* const output = call.output.raw_data();
  ReduceInOrder(call.op, call.input.dtype(), inputs, {&output, 1}, call.input.num_elements());
  operation.gathered = Tensor();
}

}  // namespace

Engine::Engine(MpiThread& thread, MpiWorld world)
    : thread_(thread),
      world_(std::move(world)),
      channel_(*std::move(world_.socket), world_.place.rank, world_.addresses, world_.token,
               [this](int from, const ControlMessage& message) { Receive(from, message); }) {
  const RankPlace& place = world_.place;
  all_ = std::make_shared<Group>(
      0, place.rank, place.size, CommunicatorOptions(),
      [this](int to, const ControlMessage& message) { channel_.Send(to, message); });
  groups_[0] = all_;
  thread_.set_crowded(world_.crowded);
  thread_.set_progress([this] { return Progress(); });
  channel_.Start();
}

std::vector<int> Engine::Greet(milliseconds limit) { return channel_.Greet(Clock::now() + limit); }

void Engine::Receive(int from, const ControlMessage& message) {
  std::lock_guard lock(mutex_);
  const auto group = groups_.find(message.group);
  if (group != groups_.end()) {
    group->second->Receive(from, message, Clock::now());
    changed_.notify_all();
  } else if (message.group >= next_group_ && message.kind == ControlMessage::Kind::kQuery) {
    ControlMessage answer;  // not there yet
    answer.kind = ControlMessage::Kind::kAnswer;
    answer.group = message.group;
    channel_.Send(from, answer);
  }
}

absl::StatusOr<std::shared_ptr<Group>> Engine::CreateGroup(const CommunicatorOptions& options,
                                                           const MpiOptions& mpi) {
  std::shared_ptr<Group> group;
  std::shared_ptr<Operation> operation;
  {
    std::lock_guard lock(mutex_);
    DTNN_RETURN_IF_ERROR(all_->broken());
    group = std::make_shared<Group>(
        next_group_++, world_.place.rank, world_.place.size, options,
        [this](int to, const ControlMessage& message) { channel_.Send(to, message); });
    groups_[group->number()] = group;
    operation = all_->Call({.timeout = options.timeout}, "the start of communication");
  }
  const bool checked = options.check_calls || !mpi.buffers;
  thread_.Post([this, group, operation, mpi, checked] {
    Creation& creation =
        creations_.emplace_back(Creation{.group = group, .operation = operation, .mpi = mpi});
    creation.steps = {{world_.world, &creation.comms.data}};
    if (checked) creation.steps.emplace_back(world_.world, &creation.comms.signatures);
    if (world_.across == MPI_COMM_NULL || !mpi.buffers) return;
    for (int stage = 0; stage < Hierarchy::kStages; ++stage) {
      creation.steps.emplace_back(stage == Hierarchy::kAcross ? world_.across : world_.here,
                                  &creation.comms.stages[size_t(stage)]);
    }
  });
  DTNN_RETURN_IF_ERROR(AwaitWith(*all_, *operation, options));
  return group;
}

std::shared_ptr<Operation> Engine::Start(const std::shared_ptr<Group>& group,
                                         const Collective& call) {
  std::shared_ptr<Operation> operation;
  {
    std::lock_guard lock(mutex_);
    operation = group->Call(call);
    if (!group->broken().ok()) return operation;
    if (group->size() == 1) {
      operation->done = true;
      group->End(*operation);
      return operation;
    }
  }
  thread_.Post([this, group, operation] {
    for (Carried& carried : carried_) {
      if (&carried.carrier.group() == group.get()) carried.carrier.Start(operation);
    }
  });
  return operation;
}

absl::Status Engine::Await(Group& group, Operation& operation) {
  return AwaitWith(group, operation, group.options());
}

absl::Status Engine::AwaitWith(Group& group, Operation& operation,
                               const CommunicatorOptions& options) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return operation.done || !group.broken().ok(); };
  if (!over()) {
    const MpiThread::Waiting waiting(thread_);
    GroupWait wait(group, operation, options, Clock::now());
    while (!over()) {
      const Clock::time_point next = wait.Look(Clock::now());
      if (const std::string warning = wait.TakeWarning(); !warning.empty()) {
        lock.unlock();
        options.warn(warning);
        lock.lock();
      } else if (!over()) {
        changed_.wait_until(lock, next);
      }
    }
  }
  broken_ |= !group.broken().ok();
  if (!operation.done) return group.broken();
  lock.unlock();
  Complete(group, operation);
  return absl::OkStatus();
}

std::optional<int32_t> Engine::AwaitDeparture(Group& group, int rank, milliseconds timeout) {
  std::unique_lock lock(mutex_);
  DepartureWait wait(group, rank, timeout, Clock::now());
  while (!wait.over()) {
    const Clock::time_point next = wait.Look(Clock::now());
    changed_.wait_until(lock, next, [&] { return wait.over(); });
  }
  return group.farewell(rank);
}

void Engine::SetFarewell(Group& group, int32_t word) {
  std::lock_guard lock(mutex_);
  group.set_farewell(word);
}

void Engine::GiveUp(Group& group, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  group.Break(why, {group.rank()});
  broken_ = true;
}

void Engine::Leave(const std::shared_ptr<Group>& group) {
  {
    std::lock_guard lock(mutex_);
    group->Leave();
    broken_ |= !group->broken().ok();
  }
  thread_.Post([this, group] {
    for (Carried& carried : carried_) {
      carried.leaves |= &carried.carrier.group() == group.get();
    }
    FreeIdle();
  });
}

std::vector<int> Engine::Lost(const Group& group) {
  std::lock_guard lock(mutex_);
  return group.lost();
}

bool Engine::broken() {
  std::lock_guard lock(mutex_);
  for (const auto& [number, group] : groups_) broken_ |= !group->broken().ok();
  return broken_;
}

void Engine::Flush() { channel_.Flush(Clock::now() + kFlush); }

void Engine::FreeIdle() {
  std::erase_if(carried_, [](Carried& carried) {
    if (!carried.leaves || !carried.carrier.idle()) return false;
    if (!carried.carrier.group().is_broken()) carried.carrier.Free();
    return true;
  });
}

void Engine::Finish(Group& group, const std::shared_ptr<Operation>& operation,
                    const absl::Status& status, Tensor gathered) {
  std::lock_guard lock(mutex_);
  if (!group.broken().ok()) return;
  if (status.ok()) {
    operation->gathered = std::move(gathered);
    operation->done = true;
    group.End(*operation);
  } else if (absl::IsInvalidArgument(status)) {
    group.Break(status, {});
  } else {
    group.Fail(operation, status);
  }
  changed_.notify_all();
}

absl::StatusOr<bool> Engine::MakeNext(Creation& creation) {
  const auto [from, to] = creation.steps[creation.step];
  if (creation.request == MPI_REQUEST_NULL) {
    DTNN_RETURN_IF_ERROR(MpiStatus(MPI_Comm_idup(from, to, &creation.request), "MPI_Comm_idup"));
  }
  bool made = false;
  DTNN_RETURN_IF_ERROR(TestAll({&creation.request, 1}, "MPI_Comm_idup", made));
  if (!made) return false;
  MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
  ++creation.step;
  return true;
}

bool Engine::Create() {
  Creation& creation = creations_.front();
  const absl::StatusOr<bool> made = MakeNext(creation);
  if (made.ok() && creation.step < creation.steps.size()) return *made;
  if (made.ok()) carried_.push_back({Carrier(creation.group, creation.comms, creation.mpi)});
  creation.failed = !made.ok();
  Finish(*all_, creation.operation, made.status(), Tensor());
  if (made.ok()) creations_.pop_front();
  return true;
}

MpiThread::Progress Engine::Progress() {
  bool moved = false, in_flight = false;
  if (!creations_.empty() && !creations_.front().failed && !all_->is_broken()) {
    in_flight = true;
    moved |= Create();
  }
  for (Carried& carried : carried_) {
    if (!carried.carrier.in_flight()) continue;
    in_flight = true;
    moved |= carried.carrier.Progress([&](const std::shared_ptr<Operation>& operation,
                                          const absl::Status& status, Tensor gathered) {
      Finish(carried.carrier.group(), operation, status, std::move(gathered));
    });
  }
  FreeIdle();
  if (!in_flight) return MpiThread::Progress::kNothing;
  return moved ? MpiThread::Progress::kMoved : MpiThread::Progress::kStill;
}

}  // namespace dtnn
