#include "comm/ranks/mpi/engine.h"

#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// What messages on their way get at the end.
constexpr milliseconds kFlush(200);

}  // namespace

Engine::Engine(MpiThread& thread, MpiWorld world)
    : GroupEngine(world.place),
      thread_(thread),
      world_(std::move(world)),
      channel_(*std::move(world_.socket), world_.place.rank, world_.addresses, world_.token,
               [this](int from, const ControlMessage& message) { Receive(from, message); }) {
  thread_.set_crowded(world_.crowded);
  thread_.set_progress([this] { return Progress(); });
  channel_.Start();
}

std::vector<int> Engine::Greet(milliseconds limit) { return channel_.Greet(Clock::now() + limit); }

absl::StatusOr<std::shared_ptr<Group>> Engine::CreateGroup(const CommunicatorOptions& options,
                                                           const MpiOptions& mpi) {
  const std::shared_ptr<Group> group = NewGroup(options);
  absl::Status broken;
  const std::shared_ptr<Operation> operation =
      CallOfAll({.timeout = options.timeout}, "the start of communication", broken);
  if (operation == nullptr) return broken;
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
  DTNN_RETURN_IF_ERROR(AwaitOfAll(*operation, options));
  return group;
}

void Engine::Carry(const std::shared_ptr<Group>& group, std::shared_ptr<Operation> operation) {
  thread_.Post([this, group, operation = std::move(operation)] {
    for (Carried& carried : carried_) {
      if (&carried.transfers.group() == group.get()) carried.transfers.Start(operation);
    }
  });
}

void Engine::Release(const std::shared_ptr<Group>& group) {
  thread_.Post([this, group] {
    for (Carried& carried : carried_) {
      carried.leaves |= &carried.transfers.group() == group.get();
    }
    FreeIdle();
  });
}

void Engine::Flush() { channel_.Flush(Clock::now() + kFlush); }

void Engine::FreeIdle() {
  std::erase_if(carried_, [](Carried& carried) {
    if (!carried.leaves || !carried.transfers.idle()) return false;
    if (!carried.transfers.group().is_broken()) carried.transfers.Free();
    return true;
  });
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
  if (made.ok()) carried_.push_back({GroupTransfers(creation.group, creation.comms, creation.mpi)});
  creation.failed = !made.ok();
  Finish(*all(), creation.operation, made.status(), Tensor());
  if (made.ok()) creations_.pop_front();
  return true;
}

MpiThread::Progress Engine::Progress() {
  bool moved = false, in_flight = false;
  if (!creations_.empty() && !creations_.front().failed && !all()->is_broken()) {
    in_flight = true;
    moved |= Create();
  }
  for (Carried& carried : carried_) {
    if (!carried.transfers.in_flight()) continue;
    in_flight = true;
    moved |= carried.transfers.Progress([&](const std::shared_ptr<Operation>& operation,
                                            const absl::Status& status, Tensor gathered) {
      Finish(carried.transfers.group(), operation, status, std::move(gathered));
    });
  }
  FreeIdle();
  if (!in_flight) return MpiThread::Progress::kNothing;
  return moved ? MpiThread::Progress::kMoved : MpiThread::Progress::kStill;
}

}  // namespace dtnn
