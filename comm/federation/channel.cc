#include "comm/federation/channel.h"

#include <poll.h>

#include <algorithm>
#include <span>

#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// Memory for a body is taken in steps of this, as its bytes come.
constexpr size_t kStepBytes = 64 << 10;

}  // namespace

void Channel::Send(FrameKind kind, uint64_t attempt, uint32_t index,
                   std::shared_ptr<const Bytes> body) {
  const FrameHeader header = {
      .kind = kind, .bytes = uint32_t(body->size()), .attempt = attempt, .index = index};
  queue_.push_back({.header = ToBytes(header), .body = std::move(body)});
}

bool Channel::Forget(uint64_t attempt) {
  bool begin = false;  // the frame that begins a round
  // Of the first one bytes may be on their way, also where the stream has taken none yet.
  const size_t kept = written_ > 0 || full_ ? 1 : 0;
  for (size_t i = queue_.size(); i-- > kept;) {
    const absl::StatusOr<FrameHeader> header =
        ParseFrameHeader(std::span<const uint8_t, kFrameHeaderBytes>(queue_[i].header));
    if (!header.ok() || header->attempt != attempt) continue;
    begin |= header->kind == FrameKind::kRound;
    queue_.erase(queue_.begin() + int64_t(i));
  }
  return begin;
}

absl::Status Channel::Write() {
  full_ = false;
  while (!queue_.empty()) {
    const Outgoing& next = queue_.front();
    const std::span<const std::byte> header = std::as_bytes(std::span(next.header));
    const std::span<const std::byte> body = std::as_bytes(std::span(*next.body));
    const std::span<const std::byte> ranges[] = {
        header.subspan(std::min(written_, header.size())),
        body.subspan(written_ - std::min(written_, header.size()))};
    DTNN_ASSIGN_OR_RETURN(const size_t n, stream_->Write(ranges));
    if (n == 0) {
      full_ = true;
      break;
    }
    sent_ += n;
    written_ += n;
    if (written_ < header.size() + body.size()) continue;
    queue_.pop_front();
    written_ = 0;
  }
  return absl::OkStatus();
}

short Channel::events() const {
  const bool waits_for_reading = full_ && stream_->writes_after_reading();
  const bool writes = stream_->wants_to_write() || (!queue_.empty() && !waits_for_reading);
  return short((waits() ? 0 : POLLIN) | (writes ? POLLOUT : 0));
}

absl::StatusOr<bool> Channel::Fill(std::span<uint8_t> into, size_t& filled) {
  while (filled < into.size()) {
    DTNN_ASSIGN_OR_RETURN(const size_t n,
                          stream_->Read(std::as_writable_bytes(into.subspan(filled))));
    if (n == 0) return false;
    received_ += n;
    filled += n;
  }
  return true;
}

absl::StatusOr<std::optional<Frame>> Channel::Receive(const Allowed& allowed) {
  if (!header_) {
    DTNN_ASSIGN_OR_RETURN(const bool complete, Fill(header_bytes_, header_filled_));
    if (!complete) return std::nullopt;
    DTNN_ASSIGN_OR_RETURN(header_, ParseFrameHeader(header_bytes_));
    may_come_ = false;
  }
  if (!may_come_) {
    const std::optional<size_t> most = allowed(*header_);
    if (!most) {
      return DataLoss("a frame \"", Name(header_->kind), "\" that nobody asked for");
    }
    if (*most == kLater) return std::nullopt;
    if (header_->bytes > *most) {
      return DataLoss("a frame \"", Name(header_->kind), "\" of ", header_->bytes,
                      " bytes, at most ", *most, " are allowed");
    }
    may_come_ = true;
    body_filled_ = 0;
  }
  while (body_filled_ < header_->bytes) {
    body_.resize(std::min<size_t>(header_->bytes, body_filled_ + kStepBytes));
    DTNN_ASSIGN_OR_RETURN(const bool complete, Fill(body_, body_filled_));
    if (!complete) return std::nullopt;
  }
  Frame frame = {.header = *header_, .body = std::exchange(body_, {})};
  header_.reset();
  header_filled_ = 0;
  return frame;
}

}  // namespace dtnn::federation
