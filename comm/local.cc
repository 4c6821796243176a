#include "comm/local.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "comm/patience.h"

namespace dtnn {
namespace {

// Bytes of one rank's tensor that a thread takes at a time: a few ranks' chunks fit a level 2
// cache.
constexpr int64_t kChunkBytes = 64 << 10;
// Elements that are summed at a time in a buffer on the stack.
constexpr int64_t kBlock = 512;

// Which calls belong together: of a collective both ranks are -1.
struct Key {
  int from, to;
  int64_t number;

  static Key Of(int rank, int64_t number, const Collective& call) {
    if (!call.between_two()) return {-1, -1, number};
    if (call.kind == CollectiveKind::kSend) return {rank, call.root, number};
    return {call.root, rank, number};
  }
  auto operator<=>(const Key&) const = default;
  bool concerns(int rank) const { return from < 0 || from == rank || to == rank; }
  std::string ToString() const {
    if (from < 0) return absl::StrCat("collective number ", number);
    return absl::StrCat("message number ", number, " from rank ", from, " to rank ", to);
  }
};

// One exchange of the group. `mutex` of the group guards what is not atomic.
struct Operation {
  Operation(int ranks, const Key& its_key)
      : key(its_key),
        calls(size_t(ranks)),
        arrived(size_t(ranks)),
        missing(key.from < 0 ? ranks : 2) {}

  const Key key;
  std::vector<Collective> calls;  // by rank
  std::vector<bool> arrived;
  int missing;
  absl::Status error;
  bool done = false;
  std::condition_variable changed;
  // Read-only once nobody is missing:
  int64_t bytes = 0, chunks = 0;
  std::atomic<int64_t> next_chunk{0}, finished_chunks{0};
};

// In the unsigned type of the same size where T is an integer: overflow wraps.
template <ReduceOp op, typename T>
T Combine(T a, T b) {
  if constexpr (op == ReduceOp::kMin) {
    return b < a ? b : a;
  } else if constexpr (op == ReduceOp::kMax) {
    return a < b ? b : a;
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(Unsigned(a) + Unsigned(b)));
  } else {
    return a + b;
  }
}

template <ReduceOp op, typename T, typename Count>
void CombineTo(T* __restrict sum, const T* __restrict x, Count count) {
  for (int64_t i = 0; i < count; ++i) sum[i] = Combine<op>(sum[i], x[i]);
}

template <ReduceOp op, typename T>
void ReduceRange(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  T sum[kBlock];
  for (; begin < end; begin += kBlock) {
    const int64_t count = std::min(kBlock, end - begin);
    std::memcpy(sum, calls[0].input.data<T>() + begin, size_t(count) * sizeof(T));
    for (size_t rank = 1; rank < calls.size(); ++rank) {
      const T* x = calls[rank].input.data<T>() + begin;
      if (count == kBlock) {
        CombineTo<op>(sum, x,
                      std::integral_constant<int64_t, kBlock>());  // so that the compiler unrolls
      } else {
        CombineTo<op>(sum, x, count);
      }
    }
    for (const Collective& call : calls) {
      std::memcpy(call.output.data<T>() + begin, sum, size_t(count) * sizeof(T));
    }
  }
}

template <typename T>
void Reduce(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  begin /= int64_t(sizeof(T));
  end /= int64_t(sizeof(T));
  switch (calls[0].op) {
    case ReduceOp::kSum:
      return ReduceRange<ReduceOp::kSum, T>(calls, begin, end);
    case ReduceOp::kMin:
      return ReduceRange<ReduceOp::kMin, T>(calls, begin, end);
    case ReduceOp::kMax:
      return ReduceRange<ReduceOp::kMax, T>(calls, begin, end);
  }
}

void Reduce(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  switch (calls[0].output.dtype()) {
    case DType::kFloat32:
      return Reduce<float>(calls, begin, end);
    case DType::kFloat64:
      return Reduce<double>(calls, begin, end);
    case DType::kUint8:
      return Reduce<uint8_t>(calls, begin, end);
    case DType::kInt32:
      return Reduce<int32_t>(calls, begin, end);
    case DType::kInt64:
      return Reduce<int64_t>(calls, begin, end);
  }
}

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

void RunChunk(const Operation& op, int64_t chunk) {
  const int64_t begin = chunk * kChunkBytes, end = std::min(op.bytes, begin + kChunkBytes);
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
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive:
      return;  // above
  }
}

class Group {
 public:
  Group(int size, const CommunicatorOptions& options)
      : size_(size), options_(options), left_(size_t(size), false) {}

  int size() const { return size_; }

  // Adds the rank's call number `number` to those of the others.
  std::shared_ptr<Operation> Arrive(int rank, int64_t number, const Collective& call);
  absl::Status Wait(Operation& op, int rank);
  void Leave(int rank);
  void AwaitDeparture(int rank, std::chrono::milliseconds timeout);

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
  std::vector<bool> left_;                             // ranks that are gone
  std::condition_variable departed_;                   // left_ or lost_ changed
  std::map<Key, std::shared_ptr<Operation>> pending_;  // ranks are still missing
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
      return BreakLocked(absl::InvalidArgumentError(absl::StrCat(
                             op.key.ToString(), " differs between ranks: rank ", other, " called ",
                             theirs.ToString(), ", rank ", rank, " called ", call.ToString(),
                             "; every rank must make the same calls in the same order")),
                         {});
    }
    if (left_[size_t(other)]) {
      return BreakLocked(absl::UnavailableError(absl::StrCat(
                             "rank ", other, " left the group before ", op.key.ToString(),
                             ", which rank ", rank, " called: ", call.ToString())),
                         {other});
    }
  }
}

std::shared_ptr<Operation> Group::Arrive(int rank, int64_t number, const Collective& call) {
  std::lock_guard lock(mutex_);
  const Key key = Key::Of(rank, number, call);
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
  if (call.kind != CollectiveKind::kBarrier) {
    op->bytes = call.input.num_elements() * int64_t(SizeOf(call.input.dtype()));
  }
  op->chunks = (op->bytes + kChunkBytes - 1) / kChunkBytes;
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
    const std::string text = absl::StrCat(
        op.key.ToString(), ", ", call.ToString(), ": rank ", rank,
        verdict == Patience::Verdict::kWarn ? " has waited " : " waited ",
        ToString(patience.Waited(now)), " for ", RankList(missing), ", which did not call it");
    if (verdict == Patience::Verdict::kWarn) {
      lock.unlock();
      options_.warn(absl::StrCat(text, "; gives up in ", ToString(patience.Left(now))));
      lock.lock();
    } else if (verdict == Patience::Verdict::kTimedOut) {
      BreakLocked(absl::DeadlineExceededError(text), missing);
    } else {
      BreakLocked(absl::UnavailableError(absl::StrCat(text, ", when it was asked to end")),
                  missing);
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
    BreakLocked(absl::UnavailableError(
                    absl::StrCat("rank ", rank, " left the group before ", key.ToString())),
                {rank});
    return;
  }
}

void Group::AwaitDeparture(int rank, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  departed_.wait_for(
      lock, std::min<std::chrono::milliseconds>(timeout, std::chrono::hours(9999)),
      [&] { return left_[size_t(rank)] || std::count(lost_.begin(), lost_.end(), rank); });
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
    group_->GiveUp(rank(), absl::Status(why.code(), absl::StrCat("rank ", rank(), " gave up: ",
                                                                 std::string(why.message()))));
  }
  std::vector<int> lost() const override { return group_->lost(); }
  void AwaitDeparture(int other, Timeout timeout) override {
    if (other < 0 || other >= size() || other == rank()) return;
    group_->AwaitDeparture(other, timeout.value_or(options().timeout));
  }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    for (const Tensor* tensor : {&call.input, &call.output}) {
      if (tensor->empty() || tensor->buffer()->host_accessible()) continue;
      Abort(absl::InvalidArgumentError(absl::StrCat(
          call.ToString(), " on ", tensor->device().ToString(),
          ": threads as ranks exchange host memory only; copy the tensor to the host")));
    }
    const Key stream = Key::Of(rank(), 0, call);
    const int64_t number = next_number_[stream]++;
    return std::make_unique<LocalWork>(group_, group_->Arrive(rank(), number, call), rank());
  }

 private:
  std::shared_ptr<Group> group_;
  std::map<Key, int64_t> next_number_;  // by the key of number 0
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> LocalGroup::Create(
    int size, const CommunicatorOptions& options) {
  if (size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a group needs at least 1 rank, not ", size));
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
