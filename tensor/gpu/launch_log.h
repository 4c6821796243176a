// What streams are asked to do while a log exists: for profiles, and for tables of what a step
// reads and writes, with or without a GPU.
//
//   LaunchLog log;
//   ... a training step ...
//   for (const LaunchLog::Entry& entry : log.Take()) ...
//
// The bytes are those that kernels declare (kernel.h): each range once, however often its elements
// are read; what is written counts as written only. Calls of CUDA's libraries do not pass here; on
// a simulated GPU those that stand in for them are kernels like all others. A call in a capture is
// logged when it is captured, not when it is replayed.
//
// One log at a time in a process, for the streams of all threads.

#ifndef DTNN_TENSOR_GPU_LAUNCH_LOG_H_
#define DTNN_TENSOR_GPU_LAUNCH_LOG_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/gpu/kernel.h"

namespace dtnn::gpu {

class LaunchLog {
 public:
  enum class Work : uint8_t { kKernel, kCopy, kFill };
  struct Entry {
    Work work = Work::kKernel;
    std::string name;  // of the kernel; "copy", "fill"
    size_t read_bytes = 0, written_bytes = 0;
  };
  // kNothing: calls are logged and succeed, but nothing is queued, so that steps can be counted
  // that a simulated GPU could not compute. What they would have written is not there.
  enum class Runs : uint8_t { kAll, kNothing };

  explicit LaunchLog(Runs runs = Runs::kAll);
  ~LaunchLog();
  LaunchLog(const LaunchLog&) = delete;
  LaunchLog& operator=(const LaunchLog&) = delete;

  // The one that exists; null: none.
  static LaunchLog* Current();

  void AddKernel(const Kernel& kernel);
  void Add(Work work, std::string_view name, size_t read_bytes, size_t written_bytes);
  bool runs_nothing() const { return runs_ == Runs::kNothing; }

  // Returns what was logged since the last call.
  std::vector<Entry> Take();

 private:
  const Runs runs_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_LAUNCH_LOG_H_
