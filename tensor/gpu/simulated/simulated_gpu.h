// Inside the simulator: one GPU, its streams and events, and what the GPUs of a driver share.
//
// Everything is checked when it is queued, by the thread that queues it and under one lock, so what
// is found does not depend on time. The threads of the streams only do what has been found right;
// they take no lock, and tell of an error through an atomic.

#ifndef DTNN_TENSOR_GPU_SIMULATED_SIMULATED_GPU_H_
#define DTNN_TENSOR_GPU_SIMULATED_SIMULATED_GPU_H_

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tensor/gpu/driver.h"
#include "tensor/gpu/simulated/capture.h"
#include "tensor/gpu/simulated/happens_before.h"
#include "tensor/gpu/simulated/mapping.h"
#include "tensor/gpu/simulated/simulated_driver.h"
#include "tensor/gpu/simulated/work_queue.h"
#include "tensor/threads/waitable_word.h"

namespace dtnn::gpu {

class SimulatedGpu;

struct World {
  std::mutex mutex;  // guards all that follows, and the state of GPUs, streams and events
  AccessHistory history;
  Clock host;          // what the host has waited for
  size_t streams = 0;  // made so far
  std::set<SimulatedGpu*> gpus;
  std::vector<std::shared_ptr<Capture>> captures;  // that have not ended

  // For what CUDA forbids a thread that captures: spoils its captures.
  absl::Status CheckThreadDoesNotCapture(std::string_view what);
  // The host has waited for all that came before `clock`.
  void HostWaitedFor(const Clock& clock);
};

class SimulatedGpu : public Gpu {
 public:
  SimulatedGpu(int device, const SimulatedConfig& config, std::shared_ptr<World> world);
  ~SimulatedGpu() override;

  absl::StatusOr<MemoryInfo> Memory() override;
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string_view name) override;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent(Timing timing) override;
  absl::Status Synchronize() override;
  CallCounts calls() const;

 private:
  friend struct World;
  friend class SimulatedStream;
  friend class SimulatedEvent;

  // An operation on pinned memory that the host has not waited for.
  struct Pending {
    std::shared_ptr<const Operation> operation;
    Access access;
  };
  struct Block {
    std::unique_ptr<Mapping> mapping;
    MemoryKind kind;
    std::vector<Pending> pending;
  };

  absl::StatusOr<std::byte*> DoAllocate(size_t bytes, MemoryKind kind,
                                        std::string_view what) override;
  absl::Status DoFree(const Allocation& allocation) override;

  // With the lock of the world:
  absl::Status CheckError() const;
  absl::StatusOr<Touch> TouchOf(const Access& access, std::byte** view);
  void TakeFromHost(const std::shared_ptr<const Operation>& operation,
                    std::span<const Touch> touches);
  // The pinned memory of operations that the host has waited for.
  void GiveBackToHost();
  static void Protect(const Block& block);

  // Called by a stream's thread.
  void Fail(std::string error);
  bool failed() const { return error_.load(std::memory_order_relaxed) != nullptr; }

  const SimulatedConfig config_;
  const std::shared_ptr<World> world_;
  std::map<std::byte*, Block> blocks_;
  size_t used_bytes_ = 0;
  CallCounts calls_;
  std::set<SimulatedStream*> streams_;
  std::atomic<const std::string*> error_ = nullptr;  // the first
};

// One Record of an event.
struct Occurrence {
  Clock clock;
  std::shared_ptr<Capture> capture;  // null unless captured
  std::vector<size_t> after;         // of the capture
  WaitableWord done;                 // 1: it is
  std::chrono::steady_clock::time_point time;

  bool IsDone() const { return done.Load(std::memory_order_acquire) != 0; }
  void AwaitDone() {
    if (!IsDone()) done.SleepWhile(0);
  }
};

class SimulatedEvent : public Event {
 public:
  SimulatedEvent(SimulatedGpu& gpu, Timing timing) : gpu_(gpu), timing_(timing) {}

  absl::Status Synchronize() override;
  absl::StatusOr<bool> Query() override;
  absl::StatusOr<double> SecondsSince(const Event& start) override;

 private:
  friend class SimulatedStream;

  // The last Record, unless there was none, it was captured, or the thread may not ask.
  absl::StatusOr<std::shared_ptr<Occurrence>> Last(std::string_view what) const;

  SimulatedGpu& gpu_;
  const Timing timing_;
  std::shared_ptr<Occurrence> last_;
};

class SimulatedStream : public Stream {
 public:
  SimulatedStream(SimulatedGpu& gpu, std::string_view name, size_t index);
  ~SimulatedStream() override;

  absl::Status Record(Event& event) override;
  absl::Status Wait(const Event& event) override;
  absl::Status Synchronize() override;
  absl::StatusOr<bool> Query() override;
  absl::Status BeginCapture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  absl::Status Replay(Graph& graph) override;

 private:
  friend class SimulatedGpu;

  absl::Status DoCopy(std::byte* to, const std::byte* from, size_t bytes) override;
  absl::Status DoFill(std::byte* to, uint8_t value, size_t bytes) override;
  absl::Status DoLaunch(const Kernel& kernel) override;

  // With the lock of the world: checks, and queues or captures.
  absl::Status Enqueue(std::string what, std::span<const Touch> touches, Work work);
  // Counts the call if it was accepted; with the lock of the world.
  static absl::Status Counted(const absl::Status& status, int64_t& calls);
  void Push(Work work);
  void LeaveCapture();
  absl::Status WaitInCapture(const Occurrence& occurrence);
  absl::Status CheckMayWait(std::string_view what);
  std::string Named(std::string_view what) const;

  SimulatedGpu& gpu_;
  World& world_;
  const size_t index_;
  Clock clock_;
  std::shared_ptr<Capture> capture_;  // null unless capturing
  CapturePlace place_;
  KernelRunner runner_;  // of the queue's thread
  // A GPU that is synchronised keeps it while it waits, though another thread ends the stream.
  const std::shared_ptr<WorkQueue> queue_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_SIMULATED_GPU_H_
