#include "comm/mpi/engine.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Of the engine's thread: between polls while nothing is on its way, and while something is.
constexpr milliseconds kIdle(20);
constexpr microseconds kBusyFirst(50), kBusyLast(500);
// Of a waiting thread: polls between two looks at the clock, and at other ranks' messages.
constexpr int kPollsPerLook = 16;
// How often a verdict that is due may be put off.
constexpr int kMaxHolds = 4;
// A waiting thread yields for so long before it begins to sleep.
constexpr microseconds kYieldFor(5000), kYieldForCrowded(200);
constexpr microseconds kSleepFirst(50), kSleepLast(250), kSleepLong(1000);
// What messages on their way get at the end.
constexpr milliseconds kFlush(200);
// How long an MPI call may take then.
constexpr milliseconds kLastCall(2000);

// How long before a verdict the others are asked where they are, again and again until then: on a
// busy machine a rank may not get to answer for seconds.
milliseconds Lead(milliseconds timeout) { return std::min(milliseconds(5000), timeout / 2); }
// For so long a verdict is put off when this rank itself did not run for half of it.
milliseconds Respite(milliseconds timeout) { return std::min(milliseconds(1000), timeout / 2); }

}  // namespace

Engine::Engine(const Ranks& ranks, MPI_Comm control, int rank, std::vector<ProcessId> processes,
               bool crowded)
    : ranks_(ranks),
      rank_(rank),
      size_(int(processes.size())),
      processes_(std::move(processes)),
      crowded_(crowded),
      control_(control, guard_) {
  thread_ = std::thread([this] { Run(); });
}

Engine::~Engine() { Stop(); }

void Engine::Stop() {
  const CommunicatorOptions last = {.timeout = kLastCall};
  const CallGuard::Watch watch(guard_, last, last.timeout);
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  std::unique_lock lock(mutex_);
  const Clock::time_point end = Clock::now() + kFlush;
  while (!control_.idle() && !guard_.stuck() && Clock::now() < end) {
    Poll(true);
    lock.unlock();
    std::this_thread::sleep_for(kSleepFirst);
    lock.lock();
  }
  control_.Close();
}

void Engine::Run() {
  prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds: the default would double our short sleeps
  std::unique_lock lock(mutex_);
  microseconds pause = kBusyFirst;
  while (!stop_) {
    const bool in_flight =
        pushed_ > 0 || (waiting_ == 0 && std::any_of(groups_.begin(), groups_.end(),
                                                     [](const auto& g) { return g->in_flight(); }));
    if (pushed_ > 0) pause = kBusyFirst;
    pushed_ = 0;
    idle_ = !in_flight;
    wake_.wait_for(lock, in_flight ? pause : microseconds(kIdle));
    idle_ = false;
    if (waiting_ > 0) continue;
    const bool moved = Poll(true);
    pause = moved ? kBusyFirst : std::min(2 * pause, kBusyLast);
  }
}

bool Engine::Poll(bool also_control) {
  bool moved = false;
  for (const std::shared_ptr<Group>& group : groups_) moved |= group->Progress();
  if (also_control) {
    moved |=
        control_.Poll([this](int from, const ControlMessage& message) { Receive(from, message); });
  }
  if (guard_.stuck()) {
    for (const std::shared_ptr<Group>& group : groups_) group->BreakStuck();
  }
  return moved;
}

void Engine::Receive(int from, const ControlMessage& message) {
  for (const std::shared_ptr<Group>& group : groups_) {
    if (group->number() == message.group) return group->Receive(from, message);
  }
  if (message.group < next_group_) return;  // for one that is no more
  if (message.kind == ControlMessage::Kind::kQuery) {
    ControlMessage answer;
    answer.kind = ControlMessage::Kind::kAnswer;
    answer.group = message.group;
    return control_.Send(from, answer);
  }
  early_[message.group].emplace_back(from, message);
}

void Engine::Relax(Clock::duration waited) const {
  if (waited < (crowded_ ? kYieldForCrowded : kYieldFor)) {
    sched_yield();
  } else if (waited < std::chrono::seconds(1)) {
    const auto pause = std::chrono::duration_cast<microseconds>(waited / 32);
    std::this_thread::sleep_for(std::clamp(pause, kSleepFirst, kSleepLast));
  } else {
    std::this_thread::sleep_for(kSleepLong);
  }
}

absl::Status Engine::AwaitRequest(MPI_Request& request, const CommunicatorOptions& options) {
  const Clock::time_point start = Clock::now();
  Patience patience(options, options.timeout, start);
  while (true) {
    int done = 0;
    {
      std::lock_guard lock(mutex_);
      const int code = guard_.Call([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
      DTNN_RETURN_IF_ERROR(MpiStatus(code, "MPI_Comm_idup"));
      Poll(true);
    }
    if (done != 0) return absl::OkStatus();
    const Clock::time_point now = Clock::now();
    const Patience::Verdict verdict = patience.Ask(now);
    std::string text;
    if (verdict != Patience::Verdict::kGoOn) {
      const std::string absent = DescribeAbsentRanks();
      text = absl::StrCat("the start of communication: rank ", rank_, " waited ",
                          ToString(patience.Waited(now)),
                          " for the other ranks, not all of which have come to it",
                          absent.empty() ? "" : ": ", absent);
    }
    if (verdict == Patience::Verdict::kWarn) options.warn(text);
    if (verdict == Patience::Verdict::kTimedOut) return absl::DeadlineExceededError(text);
    if (verdict == Patience::Verdict::kInterrupted) return absl::UnavailableError(text);
    Relax(now - start);
  }
}

absl::StatusOr<MPI_Comm> Engine::Duplicate(MPI_Comm ranks, const CommunicatorOptions& options) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  {
    std::lock_guard lock(mutex_);
    const int code = guard_.Call([&] { return MPI_Comm_idup(ranks, &comm, &request); });
    DTNN_RETURN_IF_ERROR(MpiStatus(code, "MPI_Comm_idup"));
  }
  const absl::Status status = AwaitRequest(request, options);
  std::lock_guard lock(mutex_);
  if (!status.ok()) {
    broken_ = true;
    return status;
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

absl::StatusOr<Group::Comms> Engine::MakeComms(const CommunicatorOptions& options,
                                               const MpiOptions& mpi) {
  Group::Comms comms;
  DTNN_ASSIGN_OR_RETURN(comms.data, Duplicate(ranks_.world, options));
  if (options.check_calls || !mpi.buffers) {
    DTNN_ASSIGN_OR_RETURN(comms.signatures, Duplicate(ranks_.world, options));
  }
  if (ranks_.here == MPI_COMM_NULL || !mpi.buffers) return comms;
  for (int stage = 0; stage < Hierarchy::kStages; ++stage) {
    const MPI_Comm ranks = stage == Hierarchy::kAcross ? ranks_.across : ranks_.here;
    DTNN_ASSIGN_OR_RETURN(comms.stages[size_t(stage)], Duplicate(ranks, options));
  }
  return comms;
}

absl::StatusOr<std::shared_ptr<Group>> Engine::CreateGroup(const CommunicatorOptions& options,
                                                           const MpiOptions& mpi) {
  const CallGuard::Watch watch(guard_, options, options.timeout);
  DTNN_ASSIGN_OR_RETURN(const Group::Comms comms, MakeComms(options, mpi));
  std::lock_guard lock(mutex_);
  auto group = std::make_shared<Group>(next_group_++, rank_, size_, comms, options, mpi, control_,
                                       guard_, processes_);
  groups_.push_back(group);
  if (const auto early = early_.extract(group->number())) {
    for (const auto& [from, message] : early.mapped()) group->Receive(from, message);
  }
  return group;
}

std::shared_ptr<Operation> Engine::Start(Group& group, const Collective& call) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Operation> operation = group.Start(call);
  if (!call.waits_at_once && !operation->done()) {
    ++pushed_;
    if (idle_) wake_.notify_one();
  }
  return operation;
}

absl::Status Engine::Await(Group& group, const Operation& operation) {
  const auto over = [&] { return operation.done() || !group.broken().ok(); };
  std::unique_lock lock(mutex_);
  std::optional<CallGuard::Watch> watch;  // the group's own will do otherwise
  if (operation.call.timeout < group.options().timeout || !group.watched()) {
    watch.emplace(guard_, group.options(), operation.call.timeout);
  }
  ++waiting_;
  const Clock::time_point start = Clock::now();
  Clock::time_point previous = start, hold = start;
  int holds = 0;
  bool interrupted = false;
  // For which verdict (none yet) the others were asked, since when, and when last.
  Clock::time_point asked_for = {}, asking_since = start, asked = start;
  std::optional<Patience> patience;  // most waits are over before it is needed
  const milliseconds lead = Lead(operation.call.timeout);
  const milliseconds respite = Respite(operation.call.timeout);
  while (!over()) {
    for (int i = 0; i < kPollsPerLook && !over(); ++i) Poll(i == 0);
    if (over()) break;
    const Clock::time_point now = Clock::now();
    if (!patience) patience.emplace(group.options(), operation.call.timeout, start);
    if (now - previous > respite / 2 && holds < kMaxHolds) {
      // This rank itself was stopped, and knows nothing about the others yet.
      if (now >= patience->NextVerdict()) ++holds;
      hold = now + std::min(respite, group.options().grace / 2);
      asked_for = {};
    }
    previous = now;
    if (now >= hold) {
      const Patience::Verdict verdict = patience->Ask(now);
      interrupted = verdict == Patience::Verdict::kInterrupted;
      if (verdict != Patience::Verdict::kGoOn) {
        const Group::Absence absence =
            interrupted ? group.Silent(operation, now - group.options().grace)
                        : group.Missing(operation, asking_since + (now - asking_since) / 4);
        // After an interruption, who answers is waited for as ever.
        if (!interrupted || !absence.ranks.empty()) {
          Act(verdict, *patience, now, group, operation, absence, lock);
          previous = Clock::now();
        }
      }
    }
    const Clock::time_point next = std::max(hold, patience->NextVerdict());
    if (next - now <= lead && (asked_for != next || now - asked >= lead / 8)) {
      group.Query(operation, now, /*once_more=*/asked_for == next && !interrupted);
      if (asked_for != next) asking_since = now;
      asked_for = next;
      asked = now;
    }
    lock.unlock();
    Relax(now - start);
    lock.lock();
  }
  --waiting_;
  broken_ |= !group.broken().ok();
  if (operation.done()) return operation.status;
  return group.broken();
}

void Engine::Act(Patience::Verdict verdict, const Patience& patience, Clock::time_point now,
                 Group& group, const Operation& operation, const Group::Absence& absence,
                 std::unique_lock<std::mutex>& lock) {
  const bool warn = verdict == Patience::Verdict::kWarn;
  std::string text =
      absl::StrCat(operation.key.ToString(), ", ", operation.call.ToString(), ": rank ", rank_,
                   warn ? " has waited " : " waited ", ToString(patience.Waited(now)));
  absl::StrAppend(&text, absence.ranks.empty()
                             ? std::string(", although all ranks called it: the transfer is slow")
                             : absl::StrCat(" for ", absence.text));
  if (warn) {
    lock.unlock();
    group.options().warn(absl::StrCat(text, "; gives up in ", ToString(patience.Left(now))));
    lock.lock();
  } else if (verdict == Patience::Verdict::kTimedOut) {
    group.Break(absl::DeadlineExceededError(text), absence.ranks);
  } else {
    group.Break(absl::UnavailableError(absl::StrCat(text, ", when it was asked to end")),
                absence.ranks);
  }
}

void Engine::AwaitDeparture(Group& group, int rank, milliseconds timeout) {
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = start + std::min<milliseconds>(timeout, std::chrono::hours(9999));
  const CallGuard::Watch watch(guard_, group.options(), timeout);
  std::unique_lock lock(mutex_);
  while (!group.departed(rank) && Clock::now() < end) {
    Poll(true);
    if (group.departed(rank)) return;
    lock.unlock();
    std::this_thread::sleep_for(kSleepLong);
    lock.lock();
  }
}

void Engine::GiveUp(Group& group, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  group.Break(why, {rank_});
  broken_ = true;
}

void Engine::Leave(const std::shared_ptr<Group>& group) {
  std::lock_guard lock(mutex_);
  group->Leave();
  broken_ |= !group->broken().ok();
  if (group->in_flight()) return;  // a Work outlives the communicator: goes on
  if (!group->broken().ok()) {
    // MPI may still write to its tensors: it lives as long as the process.
    static std::vector<std::shared_ptr<Group>>* const abandoned =
        new std::vector<std::shared_ptr<Group>>();
    abandoned->push_back(group);
  } else {
    group->Free();
  }
  std::erase(groups_, group);
}

std::vector<int> Engine::Lost(Group& group) {
  std::lock_guard lock(mutex_);
  return group.lost();
}

bool Engine::broken() {
  std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Group>& group : groups_) broken_ |= !group->broken().ok();
  return broken_ || guard_.stuck();
}

}  // namespace dtnn
