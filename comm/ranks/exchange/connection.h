// The connection to one other rank: frames (frame.h) over a stream, both ways, without blocking.
//
// Of one thread. Small frames go before data; pieces go in the order in which they were offered,
// the next one as long as the first has to wait for its bytes. A peer that breaks the rules, by a
// frame that no rank sends, or bytes that nobody asked for, ends the connection.

#ifndef DTNN_COMM_RANKS_EXCHANGE_CONNECTION_H_
#define DTNN_COMM_RANKS_EXCHANGE_CONNECTION_H_

#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/ranks/exchange/frame.h"
#include "comm/ranks/exchange/running.h"
#include "comm/ranks/exchange/schedule.h"
#include "comm/ranks/group/control_message.h"
#include "comm/transport/mesh.h"

namespace dtnn {

// Calls that a rank carries out at once, of a communicator's collectives, and of its messages from
// one rank to another; later ones wait. So a rank that is ahead tells others only of so many.
inline constexpr size_t kMostOpenCalls = 128;
// Pieces that one rank may have granted to another that has called for none of them: those of the
// open calls, of so many communicators at a time; more of them where ranks are few.
inline constexpr size_t kMostCommunicators = 16;
constexpr size_t MostGrants(int ranks) {
  constexpr size_t kMessages = 2;  // one in each direction
  return std::max(size_t{1} << 16,
                  kMostCommunicators * kMostOpenCalls * (MostPiecesBetween(ranks) + kMessages));
}

class Connection {
 public:
  using Handler = std::function<void(int from, const ControlMessage&)>;

  // Between `rank` and `peer`, two of `ranks`.
  Connection(int rank, int peer, int ranks, Link link, Handler handler);

  void Send(const ControlMessage& message);
  // A piece of the call that the peer is to send, or to get once it has room for it.
  void Expect(const std::shared_ptr<Running>& running, size_t piece);
  void Offer(const std::shared_ptr<Running>& running, size_t piece);
  // The group broke: nothing more is sent, and what still comes is thrown away.
  void Forget(int32_t group);

  // Moves what can be moved now, but not for long; whether there may be more to move at once.
  // OutOfRange where the peer closed the connection, other errors where it broke; Write leaves it
  // to Read to find out.
  absl::StatusOr<bool> Read();
  bool Write();
  // Whether Write would move nothing after poll has reported this.
  bool blocked(short polled) const {
    return blocked_ && (polled & (stream_->writes_after_reading() ? POLLIN : POLLOUT)) == 0;
  }
  // There may be bytes to read although poll does not say so.
  bool may_hold_bytes() const { return may_hold_bytes_; }
  // Null: poll sees all bytes.
  Unpolled* unpolled() const { return stream_->unpolled(); }
  // All that was sent is on its way.
  bool flushed() const { return out_.size() == out_at_ && payload_.empty() && queue_.empty(); }

  int descriptor() const { return stream_->descriptor(); }
  // For poll.
  short events() const;
  const std::string& address() const { return address_; }
  void CloseWriting() { stream_->CloseWriting(); }

 private:
  struct Moving {
    std::shared_ptr<Running> running;
    size_t piece = 0;
    size_t moved = 0;  // of what is sent: bytes in frames so far
  };

  // Otherwise the call has failed.
  bool Fits(const Moving& offered, int64_t granted) const;
  // Puts the header of the next frame of a piece into out_, its bytes into payload_; if there is
  // one.
  void BeginData();
  // Buffered bytes, or new ones.
  absl::StatusOr<size_t> ReadSome(std::span<std::byte> into);
  absl::StatusOr<size_t> ReadHeader();
  absl::StatusOr<size_t> ReadPayload();
  absl::Status Take(const FrameHeader& header);
  absl::Status TakeGrant(const FrameHeader& header);
  absl::Status TakeData(const FrameHeader& header);
  absl::Status TakeControl();

  const int rank_, peer_, ranks_;
  const std::unique_ptr<Stream> stream_;
  const std::string address_;
  const Handler handler_;
  std::set<int32_t> forgotten_;  // groups

  std::map<PieceKey, Moving> expected_;  // granted to the peer
  std::map<PieceKey, Moving> offered_;   // that the peer has no room for yet
  std::map<PieceKey, int64_t> granted_;  // by the peer, that are not offered yet
  std::deque<Moving> sending_;           // offered and granted
  std::string queue_;                    // small frames, after what is being written
  std::string out_;                      // being written, from out_at_ on, and then:
  size_t out_at_ = 0;
  std::span<const std::byte> payload_;
  Moving payload_of_;
  bool blocked_ = false;  // until the stream can be written to
  bool may_hold_bytes_ = true;

  std::vector<std::byte> in_;  // buffered: [in_at_, in_end_)
  size_t in_at_ = 0, in_end_ = 0;
  FrameHeader::Kind kind_ = FrameHeader::Kind::kData;  // of the frame whose payload comes
  size_t payload_left_ = 0;
  std::string control_;
  std::optional<PieceKey> data_;  // nothing: thrown away
  std::vector<std::byte> staging_;
  size_t staged_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_CONNECTION_H_
