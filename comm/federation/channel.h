// Frames over a stream, both ways, without blocking. Of one thread.

#ifndef DTNN_COMM_FEDERATION_CHANNEL_H_
#define DTNN_COMM_FEDERATION_CHANNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/frame.h"
#include "comm/transport/stream.h"

namespace dtnn::federation {

class Channel {
 public:
  // The longest body that a frame may have now; nothing where none of its kind may come. kLater
  // where it has to wait: nothing more is read, so the other end can soon send nothing more, and
  // the next Receive asks again.
  using Allowed = std::function<std::optional<size_t>(const FrameHeader& header)>;
  static constexpr size_t kLater = SIZE_MAX;

  // `address`: of the other end, for messages.
  Channel(std::unique_ptr<Stream> stream, std::string address)
      : stream_(std::move(stream)), address_(std::move(address)) {}

  // Several channels may send one body, which is not copied.
  void Send(FrameKind kind, uint64_t attempt, uint32_t index, std::shared_ptr<const Bytes> body);
  void Send(FrameKind kind, uint64_t attempt, uint32_t index, Bytes body = {}) {
    Send(kind, attempt, index, std::make_shared<const Bytes>(std::move(body)));
  }
  // Does not send those frames of an attempt of which nothing is sent yet. Whether its kRound is
  // one of them, so that the other end never learns of it.
  bool Forget(uint64_t attempt);
  // What is not sent yet, as far as it goes now.
  absl::Status Write();
  bool flushed() const { return queue_.empty(); }

  // The next frame, if it is complete. DataLoss for a peer that breaks the rules; OutOfRange where
  // it closed the connection, Unavailable where that broke.
  absl::StatusOr<std::optional<Frame>> Receive(const Allowed& allowed);

  int descriptor() const { return stream_->descriptor(); }
  void KeepBuffersShort() { stream_->KeepBuffersShort(); }
  void KeepUnsentShort() { stream_->KeepUnsentShort(); }
  // For poll.
  short events() const;
  // Whether the last Receive has left a frame for later.
  bool waits() const { return header_ && !may_come_; }
  const std::string& address() const { return address_; }
  // comm/transport/stream.h
  absl::StatusOr<Bytes> binding() const { return stream_->binding(); }
  uint64_t bytes_sent() const { return sent_; }
  uint64_t bytes_received() const { return received_; }

 private:
  struct Outgoing {
    Bytes header;
    std::shared_ptr<const Bytes> body;
  };

  // False where nothing comes now.
  absl::StatusOr<bool> Fill(std::span<uint8_t> into, size_t& filled);

  const std::unique_ptr<Stream> stream_;
  const std::string address_;
  std::deque<Outgoing> queue_;
  size_t written_ = 0;  // of its first
  bool full_ = false;   // the last Write fell short
  std::array<uint8_t, kFrameHeaderBytes> header_bytes_{};
  size_t header_filled_ = 0;
  std::optional<FrameHeader> header_;  // of the frame whose body comes
  bool may_come_ = false;              // or has to wait
  Bytes body_;
  size_t body_filled_ = 0;
  uint64_t sent_ = 0, received_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CHANNEL_H_
