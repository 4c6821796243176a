#include "comm/federation/ask_classes.h"

#include <poll.h>

#include <chrono>
#include <optional>
#include <utility>

#include "comm/federation/channel.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLongestSleep = 100;  // milliseconds

std::optional<size_t> Allowed(const FrameHeader& header) {
  if (header.kind == FrameKind::kClasses) return kMostClassesBytes;
  if (header.kind == FrameKind::kRefusal) return kMostTextBytes;
  return std::nullopt;
}

absl::StatusOr<Classes> AskOver(Link link, const CallOptions& options) {
  Channel channel(std::move(link.stream), link.address);
  channel.Send(FrameKind::kAsk, 0, 0);
  for (const Clock::time_point end = Clock::now() + kAnswerTime; Clock::now() < end;) {
    DTNN_RETURN_IF_ERROR(options.CheckInterrupt());
    DTNN_RETURN_IF_ERROR(channel.Write());
    DTNN_ASSIGN_OR_RETURN(const std::optional<Frame> frame, channel.Receive(Allowed));
    if (frame && frame->header.kind == FrameKind::kClasses) return ClassesFromBytes(frame->body);
    if (frame) return FailedPrecondition("refuses this client: ", TextFromBytes(frame->body));
    pollfd descriptor = {channel.descriptor(), channel.events(), 0};
    poll(&descriptor, 1, kLongestSleep);
  }
  return Unavailable("it does not answer");
}

}  // namespace

absl::StatusOr<Classes> AskClasses(const CallOptions& options, const JobSecret& secret) {
  Classes classes;
  DTNN_RETURN_IF_ERROR(CallUntilDone(options, secret, [&](Link link) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(classes, AskOver(std::move(link), options));
    return absl::OkStatus();
  }));
  return classes;
}

}  // namespace dtnn::federation
