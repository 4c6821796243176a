// A wait for something outside this process: sleeps, looks for a signal, warns once, and ends in
// time. Its lines say who waits, for how long, for what, and what has been in the way:
//
//   rank 1 has waited 60 s for rank 0 at node1:61642 to answer; refused: ...; gives up in 240 s
//
// Of one thread. The time counts from the construction, so that one Wait can serve several steps.

#ifndef DTNN_COMM_WAIT_H_
#define DTNN_COMM_WAIT_H_

#include <poll.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/patience.h"

namespace dtnn {

class Wait {
 public:
  using Clock = Patience::Clock;

  struct Text {
    std::string who;           // "rank 1"
    std::string what;          // "rank 0 at node1:61642 to answer"
    std::string trouble = {};  // "refused: 10.0.0.7:1024, ..."; empty: none
    std::string advice = {};   // if the time is out: "is it running?"; empty: none
  };
  // Sleeps until it is ready, which it returns, or until that time. An error ends the wait.
  using Ready = absl::FunctionRef<absl::StatusOr<bool>(Clock::time_point until)>;

  // As the options say, of which `interrupted` is asked and `warn` called here.
  explicit Wait(const CommunicatorOptions& options,
                std::function<Clock::time_point()> now = Clock::now)
      : options_(options), now_(std::move(now)), patience_(options_, options_.timeout, now_()) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // True once `ready` is; false at `until`, after at least one look. DeadlineExceeded when the
  // timeout is over, Unavailable after a signal. `text` is asked only where there is a line to say.
  absl::StatusOr<bool> Until(Clock::time_point until, absl::FunctionRef<Text()> text, Ready ready);
  // The same without such a time.
  absl::Status For(absl::FunctionRef<Text()> text, Ready ready) {
    return Until(Clock::time_point::max(), text, ready).status();
  }
  // Lets that time pass.
  absl::Status Pause(std::chrono::milliseconds pause, absl::FunctionRef<Text()> text);

  Clock::time_point Now() const { return now_(); }
  std::chrono::milliseconds Left() const { return patience_.Left(now_()); }
  // For a step that waits by itself: what is left of the time, and of that until the warning.
  CommunicatorOptions Rest() const;

 private:
  absl::Status Ask(absl::FunctionRef<Text()> text);

  const CommunicatorOptions options_;
  const std::function<Clock::time_point()> now_;
  const Clock::time_point begin_ = now_();
  Patience patience_;
};

// Until something happens to one of the descriptors, which it returns, or until that time. It may
// return earlier.
bool PollUntil(std::span<pollfd> descriptors, Wait::Clock::time_point until);

}  // namespace dtnn

#endif  // DTNN_COMM_WAIT_H_
