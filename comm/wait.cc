#include "comm/wait.h"

#include <algorithm>
#include <cstdint>

#include "tensor/errors.h"

namespace dtnn {

using std::chrono::milliseconds;

bool PollUntil(std::span<pollfd> descriptors, Wait::Clock::time_point until) {
  const auto pause = std::chrono::ceil<milliseconds>(until - Wait::Clock::now()).count();
  const int changed =
      poll(descriptors.data(), descriptors.size(), int(std::clamp<int64_t>(pause, 0, 60'000)));
  return changed > 0;
}

absl::Status Wait::Ask(absl::FunctionRef<Text()> text) {
  const Clock::time_point now = now_();
  const Patience::Verdict verdict = patience_.Ask(now);
  if (verdict == Patience::Verdict::kGoOn) return absl::OkStatus();
  const Text said = text();
  const std::string line =
      StrCat(said.who, " has waited ", ToString(patience_.Waited(now)), " for ", said.what,
             said.trouble.empty() ? "" : "; ", said.trouble);
  switch (verdict) {
    case Patience::Verdict::kInterrupted:
      return Unavailable(line, " when it received the signal to end");
    case Patience::Verdict::kTimedOut:
      return absl::DeadlineExceededError(
          StrCat(line, said.advice.empty() ? "" : "; ", said.advice));
    default:
      options_.warn(StrCat(line, "; gives up in ", ToString(patience_.Left(now))));
      return absl::OkStatus();
  }
}

absl::StatusOr<bool> Wait::Until(Clock::time_point until, absl::FunctionRef<Text()> text,
                                 Ready ready) {
  while (true) {
    DTNN_ASSIGN_OR_RETURN(const bool is_ready, ready(std::min(patience_.Next(now_()), until)));
    if (is_ready) return true;
    DTNN_RETURN_IF_ERROR(Ask(text));
    if (now_() >= until) return false;
  }
}

CommunicatorOptions Wait::Rest() const {
  CommunicatorOptions rest = options_;
  rest.timeout = std::max(milliseconds(1), Left());
  rest.warn_after -= std::chrono::duration_cast<milliseconds>(now_() - begin_);
  if (rest.warn_after <= milliseconds(0)) rest.warn = nullptr;  // it was said, or is now
  return rest;
}

absl::Status Wait::Pause(milliseconds pause, absl::FunctionRef<Text()> text) {
  return Until(now_() + pause, text, [](Clock::time_point until) { return PollUntil({}, until); })
      .status();
}

}  // namespace dtnn
