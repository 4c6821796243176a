#include "comm/federation/client/ask_classes.h"

#include <optional>
#include <utility>

#include "comm/federation/channel.h"
#include "comm/federation/client/prove_identity.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

std::optional<size_t> Allowed(const FrameHeader& header) {
  if (header.kind == FrameKind::kClasses) return kMostClassesBytes;
  if (header.kind == FrameKind::kRefusal) return kMostTextBytes;
  return std::nullopt;
}

absl::StatusOr<Classes> AskOver(Link link, const CallOptions& options) {
  Channel channel(std::move(link.stream), link.address);
  DTNN_RETURN_IF_ERROR(ProveIdentity(options, channel));
  channel.Send(FrameKind::kAsk, 0, 0);
  std::optional<Frame> frame;
  DTNN_RETURN_IF_ERROR(AwaitAnswer(options, channel, [&]() -> absl::StatusOr<bool> {
    DTNN_ASSIGN_OR_RETURN(frame, channel.Receive(Allowed));
    return frame.has_value();
  }));
  if (frame->header.kind == FrameKind::kClasses) return ClassesFromBytes(frame->body);
  return RefusalOf(*frame);
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
