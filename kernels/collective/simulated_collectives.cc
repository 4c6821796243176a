#include "kernels/collective/simulated_collectives.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "tensor/errors.h"
#include "tensor/gpu/launch.h"

namespace dtnn {
namespace {

// What identifies a group, at the front of its CollectiveId.
struct SimulatedId {
  int64_t process, number, random;
};

// Where the kernels of all ranks meet. The last to come adds for all: in the order of ranks.
class Meeting {
 public:
  explicit Meeting(int ranks) : parts_(static_cast<size_t>(ranks)) {}

  int ranks() const { return int(parts_.size()); }

  template <typename T>
  void Sum(int rank, T* data, int64_t count) {
    std::unique_lock lock(mutex_);
    parts_[size_t(rank)] = {data, count, sizeof(T)};
    const int64_t sum = sums_;
    if (++arrived_ == ranks()) {
      if (error_.ok()) AddAll<T>();
      arrived_ = 0;
      ++sums_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return sums_ != sum || !error_.ok(); });
    }
  }
  void Break(const absl::Status& why) {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = why;
    changed_.notify_all();
  }
  absl::Status error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  struct Part {
    void* data = nullptr;
    int64_t count = 0;
    size_t size = 0;  // of an element
  };

  template <typename T>
  void AddAll() {
    const Part& first = parts_[0];
    for (size_t rank = 1; rank < parts_.size(); ++rank) {
      const Part& part = parts_[rank];
      if (part.count == first.count && part.size == first.size) continue;
      error_ = InvalidArgument("all-reduce: rank 0 adds ", first.count, " elements of ", first.size,
                               " bytes, and rank ", rank, " ", part.count, " of ", part.size);
      return;
    }
    for (int64_t i = 0; i < first.count; ++i) {
      T sum = static_cast<const T*>(first.data)[i];
      for (size_t rank = 1; rank < parts_.size(); ++rank) {
        sum += static_cast<const T*>(parts_[rank].data)[i];
      }
      for (const Part& part : parts_) static_cast<T*>(part.data)[i] = sum;
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;  // by rank
  int arrived_ = 0;
  int64_t sums_ = 0;  // that are done
  absl::Status error_;
};

// One thread, which waits for the other ranks.
template <typename T>
struct SumOverRanksBody {
  Meeting* meeting;
  int rank;
  int64_t count;
  T* data;

  void Declare(int64_t, gpu::Accesses& accesses) { accesses.Writes(data, count); }
  DTNN_HOST_DEVICE void operator()(int64_t) const { meeting->Sum(rank, data, count); }
};

// A meeting is known until its last rank has joined: one that came early may be gone by then.
absl::StatusOr<std::shared_ptr<Meeting>> Join(const SimulatedId& id, int ranks) {
  static auto* const mutex = new std::mutex();
  struct Known {
    std::shared_ptr<Meeting> meeting;
    int joined = 0;
  };
  static auto* const meetings = new std::map<std::pair<int64_t, int64_t>, Known>();
  if (id.process != getpid()) {
    return absl::FailedPreconditionError(
        "the collectives of simulated GPUs join threads of one process, and these ranks are "
        "processes");
  }
  const std::lock_guard lock(*mutex);
  const std::pair key = {id.number, id.random};
  Known& known = (*meetings)[key];
  if (known.meeting == nullptr) known.meeting = std::make_shared<Meeting>(ranks);
  std::shared_ptr<Meeting> meeting = known.meeting;
  if (meeting->ranks() != ranks) {
    return InvalidArgument("a group of ", ranks, " ranks; another rank says ", meeting->ranks());
  }
  if (++known.joined == ranks) meetings->erase(key);
  return meeting;
}

class SimulatedCollectives final : public DeviceCollectives {
 public:
  SimulatedCollectives(DeviceContext& context, const CollectivePlace& place,
                       std::shared_ptr<Meeting> meeting)
      : DeviceCollectives(context, place), meeting_(std::move(meeting)) {}
  ~SimulatedCollectives() override {
    if (outstanding()) Abort();
    EndStream();
  }

  void Abort() override {
    meeting_->Break(absl::AbortedError(StrCat("rank ", place().rank, " gave up")));
  }

 private:
  absl::Status DoAllReduce(gpu::Stream& stream, const Tensor& tensor) override {
    return DispatchFloating(tensor.dtype(), [&]<typename T>(T) {
      return gpu::ForEach(stream, "all-reduce", 1,
                          SumOverRanksBody<T>{meeting_.get(), place().rank, tensor.num_elements(),
                                              tensor.data<T>()});
    });
  }
  absl::Status CheckGroup() override { return meeting_->error(); }

  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

CollectiveId NewSimulatedCollectiveId() {
  static std::atomic<int64_t> groups = 0;
  const SimulatedId id = {getpid(), ++groups, int64_t(std::random_device()())};
  CollectiveId bytes = {};
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

absl::StatusOr<std::unique_ptr<DeviceCollectives>> CreateSimulatedCollectives(
    DeviceContext& context, const CollectiveId& bytes, const CollectivePlace& place) {
  SimulatedId id;
  std::memcpy(&id, bytes.data(), sizeof(id));
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Meeting> meeting, Join(id, place.ranks));
  return std::make_unique<SimulatedCollectives>(context, place, std::move(meeting));
}

}  // namespace dtnn
