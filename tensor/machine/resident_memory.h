// The memory that this process has in use now.

#ifndef DTNN_TENSOR_MACHINE_RESIDENT_MEMORY_H_
#define DTNN_TENSOR_MACHINE_RESIDENT_MEMORY_H_

#include <cstdint>

namespace dtnn {

// Bytes, from an open /proc/self/statm; 0: not known. Allocates nothing.
int64_t ResidentBytes(int statm);

}  // namespace dtnn

#endif  // DTNN_TENSOR_MACHINE_RESIDENT_MEMORY_H_
