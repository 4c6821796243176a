// What goes over a connection between two ranks: frames, each a header of fixed size and a payload.
//
//   grant    "I have room for that piece": no rank sends a piece that was not granted, so that
//            nothing arrives that has no place yet
//   data     some bytes of a piece, in order; other frames may come between them
//   control  a ControlMessage
// A length is checked against what its kind allows before anything is done with it.

#ifndef DTNN_COMM_RANKS_EXCHANGE_FRAME_H_
#define DTNN_COMM_RANKS_EXCHANGE_FRAME_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace dtnn {

// Bytes of the payload of a data frame.
inline constexpr size_t kMostFrameBytes = 256 << 10;

// A piece between two ranks, in one direction.
struct PieceKey {
  int32_t group = 0;
  uint32_t tag = 0;         // Piece::tag
  int64_t number = 0;       // of the collective, or of the message between these two
  uint32_t is_message = 0;  // not of a collective
  uint32_t signature = 0;   // 0: tensors; else signatures of a checked call

  friend auto operator<=>(const PieceKey&, const PieceKey&) = default;
};

struct FrameHeader {
  enum class Kind : uint32_t { kGrant = 1, kData, kControl };
  Kind kind = Kind::kData;
  uint32_t payload = 0;  // bytes that follow
  PieceKey piece = {};   // of a grant, of data
  int64_t bytes = 0;     // of a grant: of the whole piece
};

// As text on the wire, which is that of the machine: x86-64 only.
inline std::string_view BytesOf(const FrameHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

// InvalidArgument for what no rank among `ranks` sends.
absl::StatusOr<FrameHeader> ReadFrameHeader(std::string_view bytes, int ranks);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_FRAME_H_
