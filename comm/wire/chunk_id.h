// Which chunk of an update, in which round: what messages about it are bound to.

#ifndef DTNN_COMM_WIRE_CHUNK_ID_H_
#define DTNN_COMM_WIRE_CHUNK_ID_H_

#include <compare>
#include <cstdint>

namespace dtnn {

struct ChunkId {
  uint64_t round = 0;
  uint32_t chunk = 0;
  auto operator<=>(const ChunkId&) const = default;
};

}  // namespace dtnn

#endif  // DTNN_COMM_WIRE_CHUNK_ID_H_
