#include "comm/ranks/exchange/connection.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

// What is moved before others have their turn.
constexpr size_t kTurnBytes = 1 << 20;
// A piece whose bytes become ready one after another is not sent in smaller frames, but for its
// end.
constexpr size_t kLeastFrameBytes = 32 << 10;
// Bytes that are combined are read in portions that stay in a level 2 cache.
constexpr size_t kStagingBytes = 128 << 10;
constexpr size_t kBufferBytes = 8 << 10;

}  // namespace

Connection::Connection(int rank, int peer, int ranks, Link link, Handler handler)
    : rank_(rank),
      peer_(peer),
      ranks_(ranks),
      stream_(std::move(link.stream)),
      address_(std::move(link.address)),
      handler_(std::move(handler)),
      in_(kBufferBytes),
      staging_(kStagingBytes) {}

short Connection::events() const {
  const bool more = blocked_ && !flushed() && !stream_->writes_after_reading();
  const bool writes = stream_->wants_to_write() || more;
  return short(POLLIN | (writes ? POLLOUT : 0));
}

void Connection::Send(const ControlMessage& message) {
  const std::string bytes = Encode(message);
  queue_ +=
      BytesOf(FrameHeader{.kind = FrameHeader::Kind::kControl, .payload = uint32_t(bytes.size())});
  queue_ += bytes;
}

void Connection::Expect(const std::shared_ptr<Running>& running, size_t piece) {
  const PieceKey key = running->key(piece);
  expected_[key] = {.running = running, .piece = piece};
  queue_ += BytesOf(FrameHeader{.kind = FrameHeader::Kind::kGrant,
                                .piece = key,
                                .bytes = int64_t(running->schedule()[piece].bytes())});
}

bool Connection::Fits(const Moving& offered, int64_t bytes) const {
  const int64_t mine = int64_t(offered.running->schedule()[offered.piece].bytes());
  if (bytes == mine) return true;
  offered.running->Fail(InvalidArgument("rank ", rank_, " sends ", mine, " bytes, rank ", peer_,
                                        " expects ", bytes,
                                        ": the ranks' calls differ in size; every rank must make "
                                        "the same calls in the same order"));
  return false;
}

void Connection::Offer(const std::shared_ptr<Running>& running, size_t piece) {
  const PieceKey key = running->key(piece);
  Moving moving = {.running = running, .piece = piece};
  const auto granted = granted_.find(key);
  if (granted == granted_.end()) {
    offered_[key] = std::move(moving);
    return;
  }
  if (Fits(moving, granted->second)) sending_.push_back(std::move(moving));
  granted_.erase(granted);
}

void Connection::Forget(int32_t group) {
  forgotten_.insert(group);
  const auto of_group = [group](const auto& entry) { return entry.first.group == group; };
  std::erase_if(expected_, of_group);
  std::erase_if(offered_, of_group);
  std::erase_if(granted_, of_group);
  std::erase_if(sending_, [group](const Moving& moving) {
    return moving.running->key(moving.piece).group == group;
  });
  if (data_ && data_->group == group) {
    data_.reset();
    staged_ = 0;
  }
}

void Connection::BeginData() {
  for (auto moving = sending_.begin(); moving != sending_.end(); ++moving) {
    Running& running = *moving->running;
    const size_t rest = running.schedule()[moving->piece].bytes() - moving->moved;
    const size_t ready = running.Ready(moving->piece) - moving->moved;
    const size_t count = std::min(ready, kMostFrameBytes);
    if (count < std::min(rest, kLeastFrameBytes)) continue;
    out_ += BytesOf(FrameHeader{.kind = FrameHeader::Kind::kData,
                                .payload = uint32_t(count),
                                .piece = running.key(moving->piece)});
    payload_ = running.Bytes(moving->piece, moving->moved, count);
    moving->moved += count;
    payload_of_ = *moving;
    if (count == rest) sending_.erase(moving);
    return;
  }
}

bool Connection::Write() {
  blocked_ = false;
  for (size_t moved = 0; moved < kTurnBytes;) {
    if (out_at_ == out_.size() && payload_.empty()) {
      out_ = std::exchange(queue_, "");
      out_at_ = 0;
      BeginData();
      if (out_.empty()) return false;
    }
    const std::array<std::span<const std::byte>, 2> ranges = {
        std::as_bytes(std::span(out_).subspan(out_at_)), payload_};
    const absl::StatusOr<size_t> written = stream_->Write(ranges);
    // What the peer has sent before the connection broke is still to be read.
    const size_t n = written.ok() ? *written : 0;
    if (n == 0) {
      blocked_ = true;
      return false;
    }
    moved += n;
    const size_t small = std::min(n, out_.size() - out_at_);
    out_at_ += small;
    if (n == small) continue;
    payload_ = payload_.subspan(n - small);
    payload_of_.running->Sent(payload_of_.piece, n - small);
    if (payload_.empty()) payload_of_ = {};
  }
  return true;
}

absl::StatusOr<size_t> Connection::ReadSome(std::span<std::byte> into) {
  if (in_at_ == in_end_) {
    if (into.size() >= in_.size()) return stream_->Read(into);
    in_at_ = in_end_ = 0;
    DTNN_ASSIGN_OR_RETURN(in_end_, stream_->Read(in_));
  }
  const size_t count = std::min(into.size(), in_end_ - in_at_);
  std::memcpy(into.data(), in_.data() + in_at_, count);
  in_at_ += count;
  return count;
}

absl::StatusOr<bool> Connection::Read() {
  for (size_t moved = 0; moved < kTurnBytes;) {
    DTNN_ASSIGN_OR_RETURN(const size_t n, payload_left_ > 0 ? ReadPayload() : ReadHeader());
    may_hold_bytes_ = n > 0;
    if (n == 0) return false;
    moved += n;
  }
  return true;
}

absl::StatusOr<size_t> Connection::ReadHeader() {
  std::array<std::byte, sizeof(FrameHeader)> bytes;
  const size_t missing = bytes.size() - control_.size();
  DTNN_ASSIGN_OR_RETURN(const size_t n, ReadSome(std::span(bytes).first(missing)));
  control_.append(reinterpret_cast<const char*>(bytes.data()), n);
  if (control_.size() < bytes.size()) return n;
  DTNN_ASSIGN_OR_RETURN(const FrameHeader header,
                        ReadFrameHeader(std::exchange(control_, ""), ranks_));
  DTNN_RETURN_IF_ERROR(Take(header));
  return n;
}

absl::Status Connection::Take(const FrameHeader& header) {
  kind_ = header.kind;
  payload_left_ = header.payload;
  switch (header.kind) {
    case FrameHeader::Kind::kGrant:
      return TakeGrant(header);
    case FrameHeader::Kind::kData:
      return TakeData(header);
    case FrameHeader::Kind::kControl:
      break;
  }
  return absl::OkStatus();
}

absl::Status Connection::TakeGrant(const FrameHeader& header) {
  if (forgotten_.contains(header.piece.group)) return absl::OkStatus();
  const auto offered = offered_.find(header.piece);
  if (offered == offered_.end()) {
    if (granted_.size() >= MostGrants(ranks_)) {
      return ResourceExhausted("grants more than it can use");
    }
    granted_[header.piece] = header.bytes;
    return absl::OkStatus();
  }
  if (Fits(offered->second, header.bytes)) sending_.push_back(std::move(offered->second));
  offered_.erase(offered);
  return absl::OkStatus();
}

absl::Status Connection::TakeData(const FrameHeader& header) {
  data_ = header.piece;
  if (forgotten_.contains(header.piece.group)) {
    data_.reset();
    return absl::OkStatus();
  }
  const auto expected = expected_.find(header.piece);
  if (expected == expected_.end()) return InvalidArgument("sends what nobody has asked for");
  const Running& running = *expected->second.running;
  const bool whole = running.schedule()[expected->second.piece].kind != Piece::Kind::kReduce ||
                     header.payload % running.element_bytes() == 0;
  if (!whole || header.payload > running.Missing(expected->second.piece)) {
    return InvalidArgument("sends other bytes than it was asked for");
  }
  return absl::OkStatus();
}

absl::Status Connection::TakeControl() {
  const std::optional<ControlMessage> message = Decode(std::exchange(control_, ""), ranks_);
  if (!message) return InvalidArgument("sends a message that is none");
  handler_(peer_, *message);
  return absl::OkStatus();
}

absl::StatusOr<size_t> Connection::ReadPayload() {
  if (kind_ == FrameHeader::Kind::kControl) {
    std::array<std::byte, 512> bytes;
    DTNN_ASSIGN_OR_RETURN(const size_t n,
                          ReadSome(std::span(bytes).first(std::min(payload_left_, bytes.size()))));
    control_.append(reinterpret_cast<const char*>(bytes.data()), n);
    payload_left_ -= n;
    if (payload_left_ == 0) DTNN_RETURN_IF_ERROR(TakeControl());
    return n;
  }
  const auto expected = data_ ? expected_.find(*data_) : expected_.end();
  const bool kept = expected != expected_.end();
  std::span<std::byte> room;
  if (kept) room = expected->second.running->Room(expected->second.piece, payload_left_);
  const bool in_place = !room.empty();
  if (!in_place) {
    room = std::span(staging_).subspan(staged_);
    room = room.first(std::min(room.size(), payload_left_));
  }
  DTNN_ASSIGN_OR_RETURN(const size_t n, ReadSome(room));
  payload_left_ -= n;
  if (!kept) return n;
  Running& running = *expected->second.running;
  if (in_place) {
    running.Received(expected->second.piece, n);
  } else {
    staged_ += n;
    const size_t taken =
        running.Combine(expected->second.piece, std::span(staging_).first(staged_));
    staged_ -= taken;
    std::memmove(staging_.data(), staging_.data() + taken, staged_);
  }
  if (running.Missing(expected->second.piece) == 0 && payload_left_ == 0) {
    expected_.erase(expected);
  }
  return n;
}

}  // namespace dtnn
