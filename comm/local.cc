#include "comm/local.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "comm/call_key.h"
#include "comm/patience.h"
#include "comm/reduce_in_order.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

// Bytes of one rank's tensor that a thread takes at a time: a few ranks' chunks fit a level 2
// cache.
constexpr int64_t kChunkBytes = 64 << 10;

// One exchange of the group. `mutex` of the group guards what is not atomic.
struct Operation {
  Operation(int ranks, const CallKey& its_key)
      : key(its_key),
        calls(size_t(ranks)),
        arrived(size_t(ranks)),
        missing(key.from < 0 ? ranks : 2) {}

  const CallKey key;
  std::vector<Collective> calls;  // by rank
  std::vector<bool> arrived;
  int missing;
  absl::Status error;
  bool done = false;
  std::condition_variable changed;
  // Read-only once nobody is missing; bytes of one rank's input, or of a part of it:
  int64_t bytes = 0, chunks = 0;
  std::atomic<int64_t> next_chunk{0}, finished_chunks{0};
};

// Bytes [begin, end) of every input, from the ranks [first, last), to every output: an all-gather's
// inputs lie one after another in the output, a broadcast's root at its begin.
void Distribute(const std::vector<Collective>& calls, int first, int last, int64_t stride,
                int64_t begin, int64_t end) {
  for (int from = first; from < last; ++from) {
    const std::byte* source = calls[from].input.raw_data() + begin;
    for (const Collective& call : calls) {
      std::byte* target = call.output.raw_data() + from * stride + begin;
      if (target != source) std::memcpy(target, source, size_t(end - begin));
    }
  }
}

void Reduce(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const Collective& call : calls) {
    inputs.push_back(call.input.raw_data() + begin);
    outputs.push_back(call.output.raw_data() + begin);
  }
  const DType dtype = calls[0].output.dtype();
  ReduceInOrder(calls[0].op, dtype, inputs, outputs, (end - begin) / int64_t(SizeOf(dtype)));
}

// Bytes [begin, end) of the parts for one rank, of `stride` bytes each; its output may be where its
// own part is.
void ReduceParts(const std::vector<Collective>& calls, int64_t to, int64_t stride, int64_t begin,
                 int64_t end) {
  std::vector<const std::byte*> inputs;
  for (const Collective& call : calls)
    inputs.push_back(call.input.raw_data() + to * stride + begin);
  std::byte* const output = calls[size_t(to)].output.raw_data() + begin;
  const DType dtype = calls[0].output.dtype();
  ReduceInOrder(calls[0].op, dtype, inputs, {&output, 1}, (end - begin) / int64_t(SizeOf(dtype)));
}

void CollectParts(const std::vector<Collective>& calls, int64_t to, int64_t stride, int64_t begin,
                  int64_t end) {
  std::byte* output = calls[size_t(to)].output.raw_data() + begin;
  for (const Collective& call : calls) {
    std::memcpy(output, call.input.raw_data() + to * stride + begin, size_t(end - begin));
    output += stride;
  }
}

void RunChunk(const Operation& op, int64_t chunk) {
  const int64_t chunks_of_part = CeilDiv(op.bytes, kChunkBytes), part = chunk / chunks_of_part;
  const int64_t begin = chunk % chunks_of_part * kChunkBytes;
  const int64_t end = std::min(op.bytes, begin + kChunkBytes);
  if (op.key.from >= 0) {
    std::memcpy(op.calls[size_t(op.key.to)].output.raw_data() + begin,
                op.calls[size_t(op.key.from)].input.raw_data() + begin, size_t(end - begin));
    return;
  }
  const int root = op.calls[0].root;
  switch (op.calls[0].kind) {
    case CollectiveKind::kBarrier:
      return;
    case CollectiveKind::kBroadcast:
      return Distribute(op.calls, root, root + 1, 0, begin, end);
    case CollectiveKind::kAllReduce:
      return Reduce(op.calls, begin, end);
    case CollectiveKind::kAllGather:
      return Distribute(op.calls, 0, int(op.calls.size()), op.bytes, begin, end);
    case CollectiveKind::kReduceScatter:
      return ReduceParts(op.calls, part, op.bytes, begin, end);
    case CollectiveKind::kAllToAll:
      return CollectParts(op.calls, part, op.bytes, begin, end);
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
      return;  // above
  }
}

// Threads of a process that is to end are alive, and waited for.
CommunicatorOptions Uninterrupted(CommunicatorOptions options) {
  options.interrupted = nullptr;
  return options;
}

class Group {
 public:
  Group(int size, const CommunicatorOptions& options)
      : size_(size),
        options_(Uninterrupted(options)),
        left_(size_t(size), false),
        departure_codes_(size_t(size), 0) {}

  int size() const { return size_; }

  // Adds the rank's call number `number` to those of the others.
  std::shared_ptr<Operation> Arrive(int rank, int64_t number, const Collective& call);
  absl::Status Wait(Operation& op, int rank);
  void Leave(int rank);
  std::optional<int32_t> AwaitDeparture(int rank, std::chrono::milliseconds timeout);
  void SetDepartureCode(int rank, int32_t code) {
    std::lock_guard lock(mutex_);
    departure_codes_[size_t(rank)] = code;
  }

  void GiveUp(int rank, absl::Status why) {
    std::lock_guard lock(mutex_);
    BreakLocked(std::move(why), {rank});
  }
  std::vector<int> lost() {
    std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  void BreakLocked(absl::Status why, std::vector<int> lost);
  // Returns when nobody is missing or the group is broken, or breaks it.
  void AwaitOthers(Operation& op, int rank, std::unique_lock<std::mutex>& lock);
  // Breaks the group where the call differs from those that are there already, or waits for a rank
  // that left.
  void CheckFits(const Operation& op, int rank, const Collective& call);
  std::vector<int> Missing(const Operation& op) const;

  const int size_;
  const CommunicatorOptions options_;
  std::mutex mutex_;
  absl::Status broken_;
  std::vector<int> lost_;
  std::vector<bool> left_;  // ranks that are gone
  std::vector<int32_t> departure_codes_;
  std::condition_variable departed_;                       // left_ or lost_ changed
  std::map<CallKey, std::shared_ptr<Operation>> pending_;  // ranks are still missing
};

void Group::BreakLocked(absl::Status why, std::vector<int> lost) {
  if (!broken_.ok()) return;
  broken_ = std::move(why);
  lost_ = std::move(lost);
  for (auto& [key, op] : pending_) {
    op->error = broken_;
    op->changed.notify_all();
  }
  pending_.clear();
  departed_.notify_all();
}

std::vector<int> Group::Missing(const Operation& op) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (op.key.concerns(rank) && !op.arrived[size_t(rank)]) ranks.push_back(rank);
  }
  return ranks;
}

void Group::CheckFits(const Operation& op, int rank, const Collective& call) {
  for (int other = 0; other < size_; ++other) {
    if (other == rank || !op.key.concerns(other)) continue;
    const Collective& theirs = op.calls[size_t(other)];
    if (op.arrived[size_t(other)]) {
      if (theirs.Fits(call)) continue;
      return BreakLocked(CallsDiffer(op.key, other, theirs.signature(), rank, call.signature()),
                         {});
    }
    if (left_[size_t(other)]) {
      return BreakLocked(Unavailable("rank ", other, " left before ", op.key.ToString(),
                                     ", which rank ", rank, " called: ", call.ToString()),
                         {other});
    }
  }
}

std::shared_ptr<Operation> Group::Arrive(int rank, int64_t number, const Collective& call) {
  std::lock_guard lock(mutex_);
  const CallKey key = CallKey::Of(rank, number, call);
  const auto [at, first] = pending_.try_emplace(key);
  if (first) at->second = std::make_shared<Operation>(size_, key);
  const std::shared_ptr<Operation> op = at->second;
  CheckFits(*op, rank, call);
  if (!broken_.ok()) {
    op->error = broken_;
    pending_.erase(key);
    return op;
  }
  op->calls[size_t(rank)] = call;
  op->arrived[size_t(rank)] = true;
  if (--op->missing > 0) return op;
  const int64_t parts = call.in_parts() ? size_ : 1;
  if (call.kind != CollectiveKind::kBarrier) {
    op->bytes = call.input.num_elements() * int64_t(SizeOf(call.input.dtype())) / parts;
  }
  op->chunks = parts * CeilDiv(op->bytes, kChunkBytes);
  op->done = op->chunks == 0;
  pending_.erase(key);
  op->changed.notify_all();
  return op;
}

void Group::AwaitOthers(Operation& op, int rank, std::unique_lock<std::mutex>& lock) {
  using Clock = Patience::Clock;
  const Collective& call = op.calls[size_t(rank)];
  Patience patience(options_, call.timeout, Clock::now());
  while (op.missing > 0 && op.error.ok()) {
    const Clock::time_point now = Clock::now();
    const Patience::Verdict verdict = patience.Ask(now);
    if (verdict == Patience::Verdict::kGoOn) {
      op.changed.wait_until(lock, patience.Next(now));
      continue;
    }
    const std::vector<int> missing = Missing(op);
    const std::string text = StrCat(
        op.key.ToString(), ", ", call.ToString(), ": rank ", rank,
        verdict == Patience::Verdict::kWarn ? " has waited " : " waited ",
        ToString(patience.Waited(now)), " for ", RankList(missing), ", which did not call it");
    if (verdict == Patience::Verdict::kWarn) {
      lock.unlock();
      options_.warn(StrCat(text, "; gives up in ", ToString(patience.Left(now))));
      lock.lock();
    } else {
      BreakLocked(absl::DeadlineExceededError(text), missing);
    }
  }
}

absl::Status Group::Wait(Operation& op, int rank) {
  std::unique_lock lock(mutex_);
  AwaitOthers(op, rank, lock);
  if (!op.error.ok()) return op.error;
  lock.unlock();
  for (int64_t chunk; (chunk = op.next_chunk.fetch_add(1)) < op.chunks;) {
    RunChunk(op, chunk);
    if (op.finished_chunks.fetch_add(1) + 1 == op.chunks) {
      std::lock_guard again(mutex_);
      op.done = true;
      op.changed.notify_all();
    }
  }
  lock.lock();
  op.changed.wait(lock, [&op] { return op.done; });
  return absl::OkStatus();
}

void Group::Leave(int rank) {
  std::lock_guard lock(mutex_);
  left_[size_t(rank)] = true;
  departed_.notify_all();
  for (const auto& [key, op] : pending_) {
    if (!key.concerns(rank) || op->arrived[size_t(rank)]) continue;
    BreakLocked(Unavailable("rank ", rank, " left before ", key.ToString()), {rank});
    return;
  }
}

std::optional<int32_t> Group::AwaitDeparture(int rank, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  departed_.wait_for(
      lock, std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(9999)),
      [&] { return left_[size_t(rank)] || std::count(lost_.begin(), lost_.end(), rank); });
  return left_[size_t(rank)] ? std::optional(departure_codes_[size_t(rank)]) : std::nullopt;
}

class LocalWork : public Work {
 public:
  LocalWork(std::shared_ptr<Group> group, std::shared_ptr<Operation> op, int rank)
      : group_(std::move(group)), op_(std::move(op)), rank_(rank) {}
  ~LocalWork() override { (void)Wait(); }

  absl::Status Wait() override {
    if (op_ != nullptr) {
      status_ = group_->Wait(*op_, rank_);
      op_ = nullptr;
    }
    return status_;
  }

 private:
  std::shared_ptr<Group> group_;
  std::shared_ptr<Operation> op_;
  int rank_;
  absl::Status status_;
};

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank, const CommunicatorOptions& options)
      : Communicator(rank, group->size(), options), group_(std::move(group)) {}
  ~LocalCommunicator() override { group_->Leave(rank()); }

  void Abort(const absl::Status& why) override {
    group_->GiveUp(rank(),
                   absl::Status(why.code(), StrCat("rank ", rank(), " gave up: ", why.message())));
  }
  std::vector<int> lost() const override { return group_->lost(); }
  void set_departure_code(int32_t code) override { group_->SetDepartureCode(rank(), code); }
  std::optional<int32_t> AwaitDeparture(int other, Timeout timeout) override {
    if (other < 0 || other >= size() || other == rank()) return std::nullopt;
    return group_->AwaitDeparture(other, timeout.value_or(options().timeout));
  }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    const CallKey stream = CallKey::Of(rank(), 0, call);
    const int64_t number = next_number_[stream]++;
    return std::make_unique<LocalWork>(group_, group_->Arrive(rank(), number, call), rank());
  }

 private:
  std::shared_ptr<Group> group_;
  std::map<CallKey, int64_t> next_number_;  // by the key of number 0
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> LocalGroup::Create(
    int size, const CommunicatorOptions& options) {
  if (size < 1) {
    return InvalidArgument("a group needs at least 1 rank, not ", size);
  }
  const auto group = std::make_shared<Group>(size, options);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_unique<LocalCommunicator>(group, rank, options));
  }
  return ranks;
}

absl::Status RunRanks(int size, absl::FunctionRef<absl::Status(Communicator&)> body,
                      const CommunicatorOptions& options) {
  absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> ranks =
      LocalGroup::Create(size, options);
  if (!ranks.ok()) return ranks.status();
  std::mutex mutex;
  absl::Status first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<Communicator> communicator = std::move((*ranks)[size_t(rank)]);
      absl::Status status = body(*communicator);
      if (status.ok()) return;
      std::lock_guard lock(mutex);
      if (first.ok()) first = status;
      communicator->Abort(status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

}  // namespace dtnn
