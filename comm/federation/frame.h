// What goes between an aggregator and its clients once they have recognised each other
// (comm/transport/meeting/handshake.h): frames, each a header of fixed size and a body.
//
// A length is compared with what its kind allows at that moment before anything is done with it,
// and memory for a body is taken as its bytes arrive.

#ifndef DTNN_COMM_FEDERATION_FRAME_H_
#define DTNN_COMM_FEDERATION_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn::federation {

using Bytes = std::vector<uint8_t>;

enum class FrameKind : uint8_t {
  // client -> aggregator
  kHello = 1,  // its name and what it has
  kReply,      // to a note, by its index; note 0 of a round needs no question
  kUpdate,     // chunk `index` of what the client has trained
  kReport,     // all chunks are sent: samples, metrics
  kDecline,    // no update of this round, and why; its index: DeclineReason
  kAnswer,     // to a question, by its index
  kAsk,        // in place of a hello: which classes the network has
  kIntroduce,  // before either, of a client that proves its name or wants a proof (identity/)
  kProof,      // to a challenge
  kSize,       // of an aggregator that is a client: what it averages has changed
  // aggregator -> client
  kWelcome = 64,
  kRefusal,     // why not; then the connection ends
  kRound,       // a round begins, or the last one is over
  kParameters,  // chunk `index` of the parameters of that round
  kNote,        // what the clients must know of each other, by its index
  kQuestion,    // about chunk `index` of the sum
  kVerdict,     // what became of an update
  kAlive,       // nothing new
  kClasses,     // what was asked for; then the connection ends
  kChallenge,   // to an introduction
};

// The index of a kDecline: what stops the client. From kAccuses on: what the client at position
// index - kAccuses has sent it through the aggregator.
enum DeclineReason : uint32_t { kOwnFault = 0, kSetUpFailed = 1, kAccuses = 2 };

// The index of a kRefusal.
enum RefusalReason : uint32_t {
  kFinal = 0,
  kNewKey = 1,  // the client may prove its name by another key now, and come again
  kBusy = 2,    // it may come again when others have left
};

// For messages.
std::string_view Name(FrameKind kind);

inline constexpr size_t kFrameHeaderBytes = 20;
inline constexpr uint8_t kFrameVersion = 14;

struct FrameHeader {
  FrameKind kind = FrameKind::kAlive;
  uint32_t bytes = 0;    // of the body
  uint64_t attempt = 0;  // at a round, counted over the whole run: what sums are bound to
  uint32_t index = 0;
};

struct Frame {
  FrameHeader header;
  Bytes body;
};

Bytes ToBytes(const FrameHeader& header);
// DataLoss for what is not a header, and another version.
absl::StatusOr<FrameHeader> ParseFrameHeader(std::span<const uint8_t, kFrameHeaderBytes> bytes);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_FRAME_H_
