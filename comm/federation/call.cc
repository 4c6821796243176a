#include "comm/federation/call.h"

#include <poll.h>

#include <algorithm>
#include <string>
#include <utility>

#include "comm/patience.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Between two calls.
constexpr milliseconds kPauseFirst(50), kPauseLast(2000);
constexpr milliseconds kLongestSleep(100);

}  // namespace

absl::Status CallOptions::CheckInterrupt() const {
  if (!interrupted || !interrupted()) return absl::OkStatus();
  return absl::CancelledError("interrupted");
}

bool IsOfConnection(const absl::Status& status) {
  return absl::IsOutOfRange(status) || absl::IsUnavailable(status);
}

absl::Status CallUntilDone(const CallOptions& options, const JobSecret& secret,
                           const std::function<absl::Status(Link link)>& talk) {
  const Clock::time_point begin = Clock::now();
  const std::string where = StrCat("the aggregator at ", options.place.address.ToString());
  bool warned = false;
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    absl::StatusOr<Link> link =
        CallAggregator(options.place, secret, Clock::now() + kAnswerTime, options.interrupted);
    const absl::Status status = link.ok() ? talk(*std::move(link)) : link.status();
    if (status.ok()) return status;
    if (!IsOfConnection(status)) return WithContext(status, where);
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited > options.timeout) {
      return Unavailable(where, " could not be reached for ", ToString(options.timeout), ": ",
                         status.message());
    }
    if (!warned && waited > options.timeout / 5 && options.warn) {
      warned = true;
      options.warn(StrCat(where, " could not be reached: ", status.message(), "; gives up in ",
                          ToString(options.timeout - waited)));
    }
    const Clock::time_point end = Clock::now() + pause;
    for (Clock::time_point now = Clock::now(); now < end; now = Clock::now()) {
      DTNN_RETURN_IF_ERROR(options.CheckInterrupt());
      const auto left = std::min<Clock::duration>(end - now, kLongestSleep);
      poll(nullptr, 0, int(std::chrono::ceil<milliseconds>(left).count()));
    }
  }
}

}  // namespace dtnn::federation
