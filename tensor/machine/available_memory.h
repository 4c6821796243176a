// How much more memory a process may take before the system ends it.

#ifndef DTNN_TENSOR_MACHINE_AVAILABLE_MEMORY_H_
#define DTNN_TENSOR_MACHINE_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <limits>
#include <string>

namespace dtnn {

struct AvailableMemory {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  std::string of = "this machine";  // or the control group (a container, a batch job) whose limit
                                    // leaves less
};

// The least of what the kernel calls available on the machine and of what the limits of the control
// groups that this process is in, of version 1 and 2, still leave; file pages, which the kernel
// drops for others, count as free. More than there can be where the system does not tell. Swap
// space does not count. `root`: where /proc and /sys are, for tests.
AvailableMemory FindAvailableMemory(const std::string& root = "");

}  // namespace dtnn

#endif  // DTNN_TENSOR_MACHINE_AVAILABLE_MEMORY_H_
