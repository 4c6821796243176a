// GPUs behind one small interface, with two implementations: CUDA's (cuda/) and a simulator that
// needs no GPU (simulated/). Code written for the interface is tested on the simulator.
//
// The rules are CUDA's, without what makes programs wrong in silence:
//   * Work is queued on streams and runs later, in order within a stream. Only an event (Record on
//     one stream, Wait on another) or a host that waits (Synchronize) orders it otherwise.
//   * Copies and kernels touch device and pinned memory of this GPU only; other memory of the host
//     is refused. The host touches pinned memory only when no queued work does.
//   * There is no default stream. Allocating and freeing may wait for the whole GPU: not in a step.
//   * Errors are Statuses that name the call and its arguments. An error of queued work is
//     reported by a later call, and then by every call: the process cannot use the GPU any more.
//
// Codes: InvalidArgument for what no call may say; FailedPrecondition for what may not be said now,
// in a capture for example; ResourceExhausted without memory, with what is free; NotFound without
// the GPU, its driver or the allocation; Internal for what failed on the GPU.
//
// Threads: several may use a Gpu at once, one at a time a Stream, an Event or a Graph. A Driver
// outlives its Gpus, a Gpu its streams, events and graphs.

#ifndef DTNN_TENSOR_GPU_DRIVER_H_
#define DTNN_TENSOR_GPU_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/gpu/allocation_table.h"
#include "tensor/gpu/kernel.h"

namespace dtnn::gpu {

class Gpu;

struct Properties {
  std::string name;      // "NVIDIA H100"
  int64_t hardware = 0;  // one number for one GPU in all processes of a host, however they count
  int capability = 0;    // 90 is sm_90
  int multiprocessors = 0;
  size_t memory_bytes = 0;
  uint32_t threads_per_block = 1024;
  Dim3 largest_block = {1024, 1024, 64};
  Dim3 largest_grid = {2147483647, 65535, 65535};
  size_t shared_bytes_per_block = 48 << 10;
};

struct MemoryInfo {
  size_t free_bytes = 0, total_bytes = 0;
};

enum class Timing : uint8_t { kOff, kOn };

// A point in a stream's work: that of the last Record. May be destroyed at any time.
class Event {
 public:
  virtual ~Event() = default;

  // Waits until the work before the event is done; FailedPrecondition if it was never recorded.
  virtual absl::Status Synchronize() = 0;
  // Whether it is done, without waiting.
  virtual absl::StatusOr<bool> Query() = 0;
  // Seconds on the GPU from `start` to this event. Both were made with Timing::kOn and are done.
  virtual absl::StatusOr<double> SecondsSince(const Event& start) = 0;
};

// Captured work, to be replayed; outlives its last replay.
class Graph {
 public:
  virtual ~Graph() = default;
};

class Stream {
 public:
  // Waits for what is queued.
  virtual ~Stream() = default;

  Gpu& gpu() const { return gpu_; }
  const std::string& name() const { return name_; }

  // Between device and pinned memory, in any direction; the two do not overlap.
  absl::Status Copy(void* to, const void* from, size_t bytes);
  absl::Status Fill(void* to, uint8_t value, size_t bytes);
  // The functor's bytes, at most kMostArgumentBytes, are copied before the call returns.
  absl::Status Launch(const Kernel& kernel);
  static constexpr size_t kMostArgumentBytes = 4096;

  // The event then means this point; what waits for its former one still does.
  virtual absl::Status Record(Event& event) = 0;
  // What is queued here from now on begins after the event. FailedPrecondition if it was never
  // recorded: CUDA would wait for nothing.
  virtual absl::Status Wait(const Event& event) = 0;

  virtual absl::Status Synchronize() = 0;
  // Whether all is done, without waiting.
  virtual absl::StatusOr<bool> Query() = 0;

  // From BeginCapture to EndCapture, what is queued here, and on streams that wait for an event
  // recorded here, becomes a graph instead of running; arguments keep the values of now. Other
  // streams have joined again (an event of theirs that this one waits for) before the end.
  // Meanwhile the thread may not allocate, free, synchronise or query anything, nor anybody this
  // stream. A violation is FailedPrecondition with CUDA's name of the error, and spoils the
  // capture: EndCapture then ends it with an error.
  virtual absl::Status BeginCapture() = 0;
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture() = 0;
  // Queues all of a graph's work as one operation.
  virtual absl::Status Replay(Graph& graph) = 0;

  // The cudaStream_t, for calls of CUDA's libraries; null on a simulated GPU.
  virtual void* native() const { return nullptr; }

 protected:
  Stream(Gpu& gpu, std::string_view name) : gpu_(gpu), name_(name) {}

 private:
  // With arguments that have been checked.
  virtual absl::Status DoCopy(std::byte* to, const std::byte* from, size_t bytes) = 0;
  virtual absl::Status DoFill(std::byte* to, uint8_t value, size_t bytes) = 0;
  virtual absl::Status DoLaunch(const Kernel& kernel) = 0;

  Gpu& gpu_;
  std::string name_;
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  const std::string& name() const { return name_; }  // "cuda:0", "simulated:0"
  const Properties& properties() const { return properties_; }

  // Aligned to 256 bytes, not initialised, for at least one byte. `what` it is for stands in
  // errors.
  absl::StatusOr<void*> Allocate(size_t bytes, std::string_view what);
  absl::StatusOr<void*> AllocatePinned(size_t bytes, std::string_view what);
  // Memory of either kind; null is ignored. Waits until all work of the GPU is done.
  absl::Status Free(void* memory);
  virtual absl::StatusOr<MemoryInfo> Memory() = 0;
  const AllocationTable& allocations() const { return allocations_; }

  // The name stands in errors.
  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string_view name) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> CreateEvent(Timing timing = Timing::kOff) = 0;
  // Waits for all streams.
  virtual absl::Status Synchronize() = 0;

 protected:
  Gpu(std::string name, Properties properties)
      : name_(std::move(name)), properties_(std::move(properties)) {}

 private:
  absl::StatusOr<void*> Allocate(size_t bytes, MemoryKind kind, std::string_view what);
  // ResourceExhausted, without further words, where there is no memory.
  virtual absl::StatusOr<std::byte*> DoAllocate(size_t bytes, MemoryKind kind,
                                                std::string_view what) = 0;
  virtual absl::Status DoFree(const Allocation& allocation) = 0;

  std::string name_;
  Properties properties_;
  AllocationTable allocations_;
};

class Driver {
 public:
  virtual ~Driver() = default;

  // GPUs that this process may use. NotFound, with the reason, where there is no driver for them or
  // it is too old; 0 where there is one, but no GPU.
  virtual absl::StatusOr<int> DeviceCount() = 0;
  virtual absl::StatusOr<Properties> PropertiesOf(int device) = 0;
  virtual absl::StatusOr<std::unique_ptr<Gpu>> Open(int device) = 0;
};

// NotFound, naming the GPU and what there is, unless 0 <= device < count.
absl::Status CheckDevice(std::string_view kind, int device, int count);

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_DRIVER_H_
