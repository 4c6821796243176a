#include "comm/local.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dtnn {
namespace {

// Bytes of one rank's tensor that a thread takes at a time: a few ranks' chunks fit a level 2
// cache.
constexpr int64_t kChunkBytes = 64 << 10;
// Elements that are summed at a time in a buffer on the stack.
constexpr int64_t kBlock = 512;

// One collective of the group. `mutex` of the group guards what is not atomic.
struct Operation {
  explicit Operation(int ranks) : calls(size_t(ranks)), arrived(size_t(ranks)), missing(ranks) {}

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

// Adds in the unsigned type of the same size where T is an integer: overflow wraps.
template <typename T, typename Count>
void AddTo(T* __restrict sum, const T* __restrict x, Count count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      sum[i] = T(Unsigned(Unsigned(sum[i]) + Unsigned(x[i])));
    } else {
      sum[i] += x[i];
    }
  }
}

template <typename T>
void ReduceRange(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  T sum[kBlock];
  for (; begin < end; begin += kBlock) {
    const int64_t count = std::min(kBlock, end - begin);
    std::memcpy(sum, calls[0].input.data<T>() + begin, size_t(count) * sizeof(T));
    for (size_t rank = 1; rank < calls.size(); ++rank) {
      const T* x = calls[rank].input.data<T>() + begin;
      if (count == kBlock) {
        AddTo(sum, x, std::integral_constant<int64_t, kBlock>());  // so that the compiler unrolls
      } else {
        AddTo(sum, x, count);
      }
    }
    for (const Collective& call : calls) {
      std::memcpy(call.output.data<T>() + begin, sum, size_t(count) * sizeof(T));
    }
  }
}

void Reduce(const std::vector<Collective>& calls, int64_t begin, int64_t end) {
  const DType dtype = calls[0].output.dtype();
  begin /= int64_t(SizeOf(dtype));
  end /= int64_t(SizeOf(dtype));
  switch (dtype) {
    case DType::kFloat32:
      return ReduceRange<float>(calls, begin, end);
    case DType::kFloat64:
      return ReduceRange<double>(calls, begin, end);
    case DType::kUint8:
      return ReduceRange<uint8_t>(calls, begin, end);
    case DType::kInt32:
      return ReduceRange<int32_t>(calls, begin, end);
    case DType::kInt64:
      return ReduceRange<int64_t>(calls, begin, end);
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
  }
}

class Group {
 public:
  explicit Group(int size) : size_(size), left_(size, false) {}

  int size() const { return size_; }

  // Adds the rank's call number `number` to those of the others.
  std::shared_ptr<Operation> Arrive(int rank, int64_t number, const Collective& call);
  absl::Status Wait(Operation& op, int rank, int64_t number);
  void Leave(int rank);

  void Break(absl::Status why) {
    std::lock_guard lock(mutex_);
    BreakLocked(std::move(why));
  }

 private:
  void BreakLocked(absl::Status why);
  // An error where the call differs from those that are there already, or waits for a rank that
  // left.
  absl::Status Fits(const Operation& op, int rank, int64_t number, const Collective& call) const;
  std::vector<int> Missing(const Operation& op) const;

  const int size_;
  std::mutex mutex_;
  absl::Status broken_;
  std::vector<bool> left_;                                 // ranks that are gone
  std::map<int64_t, std::shared_ptr<Operation>> pending_;  // by number; ranks are still missing
};

void Group::BreakLocked(absl::Status why) {
  if (!broken_.ok()) return;
  broken_ = std::move(why);
  for (auto& [number, op] : pending_) {
    op->error = broken_;
    op->changed.notify_all();
  }
  pending_.clear();
}

std::vector<int> Group::Missing(const Operation& op) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (!op.arrived[size_t(rank)]) ranks.push_back(rank);
  }
  return ranks;
}

absl::Status Group::Fits(const Operation& op, int rank, int64_t number,
                         const Collective& call) const {
  for (int other = 0; other < size_; ++other) {
    if (op.arrived[size_t(other)]) {
      const std::string theirs = op.calls[size_t(other)].ToString(), ours = call.ToString();
      if (theirs == ours) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("collective number ", number, " differs between ranks: rank ", other,
                       " called ", theirs, ", rank ", rank, " called ", ours,
                       "; every rank must make the same calls in the same order"));
    }
    if (left_[size_t(other)]) {
      return absl::UnavailableError(
          absl::StrCat("rank ", other, " left the group before collective ", "number ", number,
                       ", which rank ", rank, " called: ", call.ToString()));
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<Operation> Group::Arrive(int rank, int64_t number, const Collective& call) {
  std::lock_guard lock(mutex_);
  const auto [at, first] = pending_.try_emplace(number);
  if (first) at->second = std::make_shared<Operation>(size_);
  const std::shared_ptr<Operation> op = at->second;
  if (absl::Status status = Fits(*op, rank, number, call); !status.ok()) {
    BreakLocked(std::move(status));
  }
  if (!broken_.ok()) {
    op->error = broken_;
    pending_.erase(number);
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
  pending_.erase(number);
  op->changed.notify_all();
  return op;
}

absl::Status Group::Wait(Operation& op, int rank, int64_t number) {
  std::unique_lock lock(mutex_);
  const std::chrono::milliseconds timeout =
      std::min<std::chrono::milliseconds>(op.calls[size_t(rank)].timeout, std::chrono::hours(9999));
  const auto complete = [&op] { return op.missing == 0 || !op.error.ok(); };
  if (!op.changed.wait_for(lock, timeout, complete)) {
    const std::vector<int> missing = Missing(op);
    BreakLocked(absl::DeadlineExceededError(absl::StrCat(
        "collective number ", number, ", ", op.calls[size_t(rank)].ToString(), ": rank ", rank,
        " waited ", timeout.count(), " ms for rank", missing.size() > 1 ? "s " : " ",
        absl::StrJoin(missing, ", "), ", which did not call it")));
  }
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
  for (const auto& [number, op] : pending_) {
    if (op->arrived[size_t(rank)]) continue;
    BreakLocked(absl::UnavailableError(
        absl::StrCat("rank ", rank, " left the group before collective number ", number)));
    return;
  }
}

class LocalWork : public Work {
 public:
  LocalWork(std::shared_ptr<Group> group, std::shared_ptr<Operation> op, int rank, int64_t number)
      : group_(std::move(group)), op_(std::move(op)), rank_(rank), number_(number) {}
  ~LocalWork() override { (void)Wait(); }

  absl::Status Wait() override {
    if (op_ != nullptr) {
      status_ = group_->Wait(*op_, rank_, number_);
      op_ = nullptr;
    }
    return status_;
  }

 private:
  std::shared_ptr<Group> group_;
  std::shared_ptr<Operation> op_;
  int rank_;
  int64_t number_;
  absl::Status status_;
};

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Group> group, int rank, const CommunicatorOptions& options)
      : Communicator(rank, group->size(), options), group_(std::move(group)) {}
  ~LocalCommunicator() override { group_->Leave(rank()); }

  void Abort(const absl::Status& why) override {
    group_->Break(absl::Status(
        why.code(), absl::StrCat("rank ", rank(), " gave up: ", std::string(why.message()))));
  }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    for (const Tensor* tensor : {&call.input, &call.output}) {
      if (tensor->empty() || tensor->buffer()->host_accessible()) continue;
      Abort(absl::InvalidArgumentError(absl::StrCat(
          call.ToString(), " on ", tensor->device().ToString(),
          ": threads as ranks exchange host memory only; copy the tensor to the host")));
    }
    const int64_t number = next_number_++;
    return std::make_unique<LocalWork>(group_, group_->Arrive(rank(), number, call), rank(),
                                       number);
  }

 private:
  std::shared_ptr<Group> group_;
  int64_t next_number_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> LocalGroup::Create(
    int size, const CommunicatorOptions& options) {
  if (size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a group needs at least 1 rank, not ", size));
  }
  const auto group = std::make_shared<Group>(size);
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
