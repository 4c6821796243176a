#include "comm/ranks/group/group_engine.h"

#include <cstring>
#include <utility>

#include "comm/ranks/group/departure_wait.h"
#include "comm/ranks/group/group_wait.h"
#include "comm/reduce_in_order.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// What a caller's own rank does for a call: alone, or the sum of what the transport has gathered,
// which is of the output's size from each rank.
void Complete(const Group& group, Operation& operation) {
  const Collective& call = operation.call;
  if (call.output.empty()) return;
  const size_t bytes = size_t(call.output.num_elements()) * SizeOf(call.output.dtype());
  if (group.size() == 1 && call.input.raw_data() != call.output.raw_data()) {
    std::memcpy(call.output.raw_data(), call.input.raw_data(), bytes);
  }
  if (operation.gathered.empty()) return;
  std::vector<const std::byte*> inputs;
  for (int rank = 0; rank < group.size(); ++rank) {
    inputs.push_back(operation.gathered.raw_data() + size_t(rank) * bytes);
  }
  std::byte* const output = call.output.raw_data();
  ReduceInOrder(call.op, call.output.dtype(), inputs, {&output, 1}, call.output.num_elements());
  operation.gathered = Tensor();
}

}  // namespace

GroupEngine::GroupEngine(const RankPlace& place)
    : place_(place),
      all_(std::make_shared<Group>(0, place.rank, place.size, CommunicatorOptions(), Sender())),
      groups_({{0, all_}}) {}

std::function<void(int, const ControlMessage&)> GroupEngine::Sender() {
  return [this](int to, const ControlMessage& message) { Send(to, message); };
}

std::shared_ptr<Group> GroupEngine::NewGroup(const CommunicatorOptions& options) {
  std::lock_guard lock(mutex_);
  auto group = std::make_shared<Group>(next_group_++, place_.rank, place_.size, options, Sender());
  groups_[group->number()] = group;
  return group;
}

std::shared_ptr<Operation> GroupEngine::CallOfAll(const Collective& call, const std::string& text,
                                                  absl::Status& why) {
  std::lock_guard lock(mutex_);
  why = all_->broken();
  return why.ok() ? all_->Call(call, text) : nullptr;
}

absl::Status GroupEngine::AwaitOfAll(Operation& operation, const CommunicatorOptions& options) {
  return AwaitWith(*all_, operation, options);
}

void GroupEngine::Receive(int from, const ControlMessage& message) {
  std::lock_guard lock(mutex_);
  const auto group = groups_.find(message.group);
  if (group != groups_.end()) {
    group->second->Receive(from, message, Clock::now());
    changed_.notify_all();
  } else if (message.group >= next_group_ && message.kind == ControlMessage::Kind::kQuery) {
    ControlMessage answer;  // not there yet
    answer.kind = ControlMessage::Kind::kAnswer;
    answer.group = message.group;
    Send(from, answer);
  }
}

std::shared_ptr<Operation> GroupEngine::Start(const std::shared_ptr<Group>& group,
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
  Carry(group, operation);
  return operation;
}

absl::Status GroupEngine::Await(Group& group, Operation& operation) {
  return AwaitWith(group, operation, group.options());
}

absl::Status GroupEngine::AwaitWith(Group& group, Operation& operation,
                                    const CommunicatorOptions& options) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return operation.done || !group.broken().ok(); };
  if (!over()) {
    SetWaiting(true);
    GroupWait wait(group, operation, options, Clock::now());
    bool works = false;
    while (!over()) {
      const Clock::time_point next = wait.Look(Clock::now());
      if (const std::string warning = wait.TakeWarning(); !warning.empty()) {
        if (std::exchange(works, false)) HandBack();
        lock.unlock();
        options.warn(warning);
        lock.lock();
      } else if (!over()) {
        works = works || TakeOver(operation);
        if (works) {
          lock.unlock();
          CarryOn(next);
          lock.lock();
        } else {
          changed_.wait_until(lock, next);
        }
      }
    }
    if (works) HandBack();
    SetWaiting(false);
  }
  broken_ |= !group.broken().ok();
  if (!operation.done) return group.broken();
  lock.unlock();
  Complete(group, operation);
  return absl::OkStatus();
}

std::optional<int32_t> GroupEngine::AwaitDeparture(Group& group, int rank, milliseconds timeout) {
  std::unique_lock lock(mutex_);
  DepartureWait wait(group, rank, timeout, Clock::now());
  while (!wait.over()) {
    const Clock::time_point next = wait.Look(Clock::now());
    changed_.wait_until(lock, next, [&] { return wait.over(); });
  }
  return group.departure_code(rank);
}

void GroupEngine::SetDepartureCode(Group& group, int32_t code) {
  std::lock_guard lock(mutex_);
  group.set_departure_code(code);
}

void GroupEngine::GiveUp(Group& group, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  group.Break(why, {group.rank()});
  broken_ = true;
}

void GroupEngine::Leave(const std::shared_ptr<Group>& group) {
  {
    std::lock_guard lock(mutex_);
    group->Leave();
    broken_ |= !group->broken().ok();
  }
  Release(group);
}

std::vector<int> GroupEngine::Lost(const Group& group) {
  std::lock_guard lock(mutex_);
  return group.lost();
}

bool GroupEngine::broken() {
  std::lock_guard lock(mutex_);
  for (const auto& [number, group] : groups_) broken_ |= !group->broken().ok();
  return broken_;
}

void GroupEngine::Finish(Group& group, const std::shared_ptr<Operation>& operation,
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

void GroupEngine::Lose(int rank, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  for (const auto& [number, group] : groups_) group->Lose(rank, why);
  changed_.notify_all();
}

}  // namespace dtnn
