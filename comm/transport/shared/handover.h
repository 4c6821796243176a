// How a rank passes shared memory to another one of its host: over a Unix socket without a file,
// which is found by its name only in one network namespace.
//
// The rank that is to get it makes an inbox, and sends its name and a token over the stream by
// which the two know each other. Other users of the host see names of such sockets: the system
// drops messages without the token, so that they neither fill the inbox nor put descriptors into
// this process. A process that ends leaves nothing.
//
// Errors: ResourceExhausted, Unavailable where the system does not provide what is needed. Ranks
// then keep the stream that they have.

#ifndef DTNN_COMM_TRANSPORT_SHARED_HANDOVER_H_
#define DTNN_COMM_TRANSPORT_SHARED_HANDOVER_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "comm/descriptors/descriptor.h"
#include "comm/transport/shared/shared_memory.h"
#include "comm/transport/shared/shared_stream.h"

namespace dtnn {

struct Invitation {
  uint64_t name[2] = {}, token[2] = {};  // random; zero: there is no inbox
  bool empty() const { return token[0] == 0 && token[1] == 0; }
};

class Inbox {
 public:
  static absl::StatusOr<Inbox> Create();
  const Invitation& invitation() const { return invitation_; }
  // What HandOver has sent. Never waits: Unavailable where there is nothing yet. InvalidArgument
  // where it is not what ranks share.
  absl::StatusOr<SharedEnd> Take(size_t ring_bytes = kRingBytes);

 private:
  Inbox(Descriptor socket, const Invitation& invitation)
      : socket_(std::move(socket)), invitation_(invitation) {}

  Descriptor socket_;
  Invitation invitation_;
};

// Makes memory for the two. Once this returns OK it can be taken.
absl::StatusOr<SharedEnd> HandOver(const Invitation& invitation, size_t ring_bytes = kRingBytes);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_SHARED_HANDOVER_H_
