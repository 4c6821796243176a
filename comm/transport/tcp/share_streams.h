// Ranks of one host that have met exchange their bytes through memory that they share
// (comm/transport/shared), in place of a connection by TCP.

#ifndef DTNN_COMM_TRANSPORT_TCP_SHARE_STREAMS_H_
#define DTNN_COMM_TRANSPORT_TCP_SHARE_STREAMS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/transport/mesh.h"
#include "comm/transport/tcp/stream_wait.h"

namespace dtnn {

// Ranks with which this one cannot share memory, in the order in which it found out, and why not
// with the first.
struct SharingTrouble {
  std::vector<int> ranks;
  std::string why;
};

// Puts such a stream in the place of that to each rank of `others`, which call this too, with the
// same ranks: those of this host, in ascending order, nothing but this being said over their
// streams. Where the system does not let two of them share memory, both keep the stream that they
// have. Errors: of the streams, and comm/wait.h.
absl::StatusOr<SharingTrouble> ShareStreams(std::span<const int> others, Mesh& mesh,
                                            StreamWait& wait);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TCP_SHARE_STREAMS_H_
