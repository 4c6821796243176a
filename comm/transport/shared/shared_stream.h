// A stream through memory that two processes of one host have mapped (shared_memory.h).
//
// Its descriptor is one end of a pair of Unix sockets, the bell: the other process sends a byte
// only where this one sleeps, and the system closes it when the other process ends, however that
// happens; what that has written before is still read. poll learns of bytes only after Watch
// (Unpolled, comm/transport/stream.h).

#ifndef DTNN_COMM_TRANSPORT_SHARED_SHARED_STREAM_H_
#define DTNN_COMM_TRANSPORT_SHARED_SHARED_STREAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/descriptors/descriptor.h"
#include "comm/transport/shared/shared_memory.h"
#include "comm/transport/stream.h"

namespace dtnn {

// One process's end.
struct SharedEnd {
  SharedMemory memory;
  bool created = false;  // by this process
  Descriptor bell;
};

// `binding`: of the stream by which the two ends have agreed on the memory.
std::unique_ptr<Stream> SharedStream(SharedEnd end, absl::StatusOr<std::vector<uint8_t>> binding);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_SHARED_SHARED_STREAM_H_
