#include "comm/transport/shared/shared_stream.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "comm/descriptors/system_error.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class Shared : public Stream, public Unpolled {
 public:
  Shared(SharedEnd end, absl::StatusOr<std::vector<uint8_t>> binding)
      : end_(std::move(end)),
        writer_(end_.memory.state(end_.created ? 0 : 1), end_.memory.ring(end_.created ? 0 : 1)),
        reader_(end_.memory.state(end_.created ? 1 : 0), end_.memory.ring(end_.created ? 1 : 0)),
        binding_(std::move(binding)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    size_t moved = 0;
    while (moved < into.size()) {
      // What comes before an error is worth reading.
      const absl::StatusOr<size_t> n = reader_.Read(into.subspan(moved));
      if (!n.ok() && moved == 0) return n;
      if (!n.ok() || *n == 0) break;
      moved += *n;
      if (reader_.TakeSleeper()) Ring();
    }
    if (moved > 0 || into.empty()) return moved;
    DTNN_RETURN_IF_ERROR(broken_);
    if (!IsGone()) return 0;
    // It may have written before it ended.
    DTNN_ASSIGN_OR_RETURN(moved, reader_.Read(into));
    if (moved == 0) return absl::OutOfRangeError("closed by the other side");
    return moved;
  }

  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    DTNN_RETURN_IF_ERROR(broken_);
    size_t moved = 0;
    full_ = false;
    for (std::span<const std::byte> range : from) {
      while (!range.empty()) {
        const absl::StatusOr<size_t> n = writer_.Write(range);
        if (!n.ok()) return broken_ = n.status();
        full_ = *n == 0;
        if (full_) return moved;
        range = range.subspan(*n);
        moved += *n;
        if (writer_.TakeSleeper()) Ring();
      }
    }
    return moved;
  }

  void CloseWriting() override {
    writer_.End();
    Ring();
  }

  int descriptor() const override { return end_.bell.descriptor(); }
  bool writes_after_reading() const override { return true; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return binding_; }

  Unpolled* unpolled() override { return this; }
  bool ready() const override {
    return reader_.has_bytes() || (full_ && writer_.has_room()) || !broken_.ok();
  }
  bool Watch() override {
    watched_ = true;
    reader_.set_sleeps(true);
    if (full_) writer_.set_sleeps(true);
    return ready();
  }
  void Unwatch() override {
    reader_.set_sleeps(false);
    writer_.set_sleeps(false);
  }

 private:
  void Ring() {
    if (send(descriptor(), "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return;
    const bool rings_already = errno == EAGAIN || errno == EWOULDBLOCK;
    const bool nobody_is_there = errno == EPIPE || errno == ECONNRESET;  // as Read finds
    if (rings_already || nobody_is_there) return;
    broken_ = SystemError("cannot wake the other side", errno);  // it could sleep for ever
  }

  // Silences the bell. Whether the other process has closed its end.
  bool IsGone() {
    if (gone_ || !watched_) return gone_;
    std::array<char, 64> ignored;
    const ssize_t n = recv(descriptor(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    watched_ = n > 0;
    gone_ = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    return gone_;
  }

  const SharedEnd end_;
  RingWriter writer_;
  RingReader reader_;
  const absl::StatusOr<std::vector<uint8_t>> binding_;
  absl::Status broken_;   // for good; Read reports it when nothing is left to read
  bool full_ = false;     // the last Write fell short
  bool watched_ = false;  // the bell may have rung since it was silenced
  bool gone_ = false;
};

}  // namespace

std::unique_ptr<Stream> SharedStream(SharedEnd end, absl::StatusOr<std::vector<uint8_t>> binding) {
  return std::make_unique<Shared>(std::move(end), std::move(binding));
}

}  // namespace dtnn
