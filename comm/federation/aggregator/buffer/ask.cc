#include "comm/federation/aggregator/buffer/ask.h"

#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/channel.h"
#include "comm/federation/messages.h"
#include "tensor/errors.h"

namespace dtnn::federation {

std::optional<size_t> Ask::Allowed(int /*position*/, const FrameHeader& header) {
  if (header.attempt != number_ || reported_) return std::nullopt;
  const bool wanted = !over_ && !settled();
  switch (header.kind) {
    case FrameKind::kUpdate:
      if (header.index != chunks_.size() || header.index >= parts_.shape.chunks()) break;
      if (wanted && !parts_.places.Take(receiving_, now_)) return Channel::kLater;
      return MostMessageBytes(parts_.codec.description());
    case FrameKind::kReport:
    case FrameKind::kDecline:
      return kMostReport;
    default:
      break;
  }
  return std::nullopt;
}

void Ask::Hear(int /*position*/) { receiving_.heard = now_ = Clock::now(); }

void Ask::Take(int /*position*/, Frame frame) {
  const bool wanted = !over_ && !settled();
  if (frame.header.kind == FrameKind::kUpdate) {
    // The chunks of one that is left out are counted, not kept.
    chunks_.push_back(wanted ? std::move(frame.body) : Bytes());
    return;
  }
  reported_ = true;
  if (!wanted) return;
  if (frame.header.kind == FrameKind::kDecline) {
    const std::string why = StrCat("it has no update: ", TextFromBytes(frame.body));
    return frame.header.index == kOwnFault ? Refuse(why) : LeaveOut(why);
  }
  absl::StatusOr<Report> report = ReportFromBytes(frame.body);
  if (!report.ok()) return Refuse(std::string(report.status().message()));
  client_.report = *std::move(report);
  complete_ = ++parts_.completed;
}

absl::StatusOr<std::vector<float>> Ask::Read() {
  complete_ = 0;
  std::vector<float> update(parts_.shape.values);
  const absl::Status read =
      ReadUpdate(parts_.codec, number_, /*position=*/0, parts_.shape, chunks_, update);
  parts_.places.Release(receiving_);
  DTNN_RETURN_IF_ERROR(read);
  return update;
}

void Ask::Accept(int64_t staleness) {
  client_.state = Asked::State::kAccepted;
  client_.staleness = staleness;
}

void Ask::Refuse(const std::string& why) {
  client_.at_fault = true;
  LeaveOut(why);
}

// An update that is whole counts.
void Ask::Lose(int /*position*/, const std::string& why) {
  reported_ = true;
  if (complete_ == 0) LeaveOut(why);
}

void Ask::LeaveOut(const std::string& why) {
  if (settled()) return;
  client_.state = Asked::State::kLeftOut;
  client_.why = why;
  client_.report = {};
  complete_ = 0;
  for (Bytes& chunk : chunks_) Free(chunk);
  parts_.places.Release(receiving_);
}

void Ask::Advance(Clock::time_point now) {
  now_ = now;
  if (settled() || complete_ != 0) return;
  if (now >= deadline()) return LeaveOut("it had no update at the deadline");
  const std::optional<std::string> why = parts_.places.WhyLost(
      receiving_, now, parts_.deadline, chunks_.size(), parts_.shape.chunks());
  if (why) LeaveOut(*why);
}

void Ask::Excuse(Clock::duration time) {
  begin_ += time;
  receiving_.from += time;
  receiving_.heard += time;
}

void Ask::Close() {
  LeaveOut("its round is over");
  over_ = true;
}

}  // namespace dtnn::federation
