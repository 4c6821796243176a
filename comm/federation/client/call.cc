#include "comm/federation/client/call.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/federation/messages.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// Between two calls.
constexpr milliseconds kPauseFirst(50), kPauseLast(2000);
// For an answer on one connection.
constexpr std::chrono::seconds kAnswerTime(10);
// When a client says that it waits, and for whom.
constexpr milliseconds kSilence(3000);

}  // namespace

absl::Status CallOptions::CheckInterrupt() const {
  if (!interrupted || !interrupted()) return absl::OkStatus();
  return absl::CancelledError("interrupted");
}

bool IsOfConnection(const absl::Status& status) {
  return absl::IsOutOfRange(status) || absl::IsUnavailable(status) || absl::IsAborted(status);
}

absl::Status RefusalOf(const Frame& frame) {
  const std::string why = TextFromBytes(frame.body);
  if (frame.header.index == kNewKey || frame.header.index == kBusy) return absl::AbortedError(why);
  return FailedPrecondition("refuses this client: ", why);
}

absl::Status AwaitAnswer(const CallOptions& options, Channel& channel,
                         absl::FunctionRef<absl::StatusOr<bool>()> heard) {
  Wait wait({.timeout = std::min<milliseconds>(kAnswerTime, options.timeout),
             .interrupted = options.interrupted,
             .grace = milliseconds(0)});
  const auto text = [&] { return Wait::Text{.who = "this client", .what = channel.address()}; };
  const absl::Status answered =
      wait.For(text, [&](Wait::Clock::time_point until) -> absl::StatusOr<bool> {
        DTNN_RETURN_IF_ERROR(channel.Write());
        DTNN_ASSIGN_OR_RETURN(const bool is_there, heard());
        pollfd descriptor = {channel.descriptor(), channel.events(), 0};
        if (!is_there) PollUntil({&descriptor, 1}, until);
        return is_there;
      });
  DTNN_RETURN_IF_ERROR(options.CheckInterrupt());
  if (absl::IsDeadlineExceeded(answered)) return Unavailable("it does not answer");
  return answered;
}

absl::Status CallUntilDone(const CallOptions& options, const JobSecret& secret,
                           const std::function<absl::Status(Link link)>& talk) {
  Wait wait({.timeout = options.timeout,
             .warn_after = std::min(kSilence, options.timeout / 5),
             .warn = options.warn,
             .interrupted = options.interrupted,
             .grace = milliseconds(0)});
  const std::string where = StrCat("the aggregator at ", options.place.address.ToString());
  std::string said;  // by the aggregator, at last
  const auto after_said = [&](const absl::Status& trouble) {
    return StrCat(said.empty() ? "" : StrCat("the last answer: ", said, "; since then: "),
                  trouble.message());
  };
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    absl::StatusOr<Link> link = CallAggregator(options.place, secret, wait);
    DTNN_RETURN_IF_ERROR(options.CheckInterrupt());
    // The time is out, a moment after this call perhaps.
    if (absl::IsDeadlineExceeded(link.status())) {
      return Unavailable(after_said(link.status()));
    }
    const absl::Status status = link.ok() ? talk(*std::move(link)) : link.status();
    if (status.ok()) return status;
    if (!IsOfConnection(status)) return WithContext(status, where);
    const bool is_said = absl::IsAborted(status);
    if (is_said) said = std::string(status.message());
    const auto text = [&] {
      return Wait::Text{.who = "this client",
                        .what = StrCat(where, " to answer"),
                        .trouble = is_said ? said : after_said(status)};
    };
    const absl::Status paused = wait.Pause(pause, text);
    DTNN_RETURN_IF_ERROR(options.CheckInterrupt());
    if (!paused.ok()) return Unavailable(paused.message());
  }
}

}  // namespace dtnn::federation
