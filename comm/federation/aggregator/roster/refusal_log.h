// The lines of a log about callers that are refused. Callers choose how often they call, so they
// must not be able to fill it: kAtOnce lines, and one a second after that. Those that are left out
// are counted.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_REFUSAL_LOG_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_REFUSAL_LOG_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/errors.h"

namespace dtnn::federation {

class RefusalLog {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr int kAtOnce = 20;

  // The line to log for this refusal; empty: it is only counted.
  std::string Line(std::string_view refusal, Clock::time_point now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_).count();
    if (seconds > 0) {
      left_ = int(std::min<int64_t>(kAtOnce, left_ + seconds));
      since_ = now;
    }
    if (left_ == 0) {
      ++left_out_;
      return "";
    }
    --left_;
    std::string line = StrCat("refused: ", refusal);
    if (left_out_ > 0) line += StrCat(" (and ", left_out_, " more before this, not logged)");
    left_out_ = 0;
    return line;
  }

 private:
  int left_ = kAtOnce;  // lines
  Clock::time_point since_{};
  int64_t left_out_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ROSTER_REFUSAL_LOG_H_
