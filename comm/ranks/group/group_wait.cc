#include "comm/ranks/group/group_wait.h"

#include <algorithm>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// How often a verdict that is due may be put off.
constexpr int kMaxHolds = 4;
// The others are asked so often before a verdict, but not more often than this.
constexpr int kQuestions = 8;
constexpr milliseconds kLeastPause(5);

// How long before a verdict the others are asked where they are.
milliseconds LeadOf(milliseconds timeout) { return std::min(milliseconds(5000), timeout / 2); }
// For so long a verdict is put off when this rank itself did not run for half of it.
milliseconds RespiteOf(milliseconds timeout) { return std::min(milliseconds(1000), timeout / 2); }

}  // namespace

GroupWait::GroupWait(Group& group, const Operation& operation, const CommunicatorOptions& options,
                     Clock::time_point start)
    : group_(group),
      operation_(operation),
      lead_(LeadOf(operation.call.timeout)),
      respite_(RespiteOf(operation.call.timeout)),
      grace_(options.grace),
      patience_(options, operation.call.timeout, start),
      planned_(start),
      hold_(start),
      asked_since_(start) {}

std::string GroupWait::TakeWarning() { return std::exchange(warning_, ""); }

void GroupWait::HoldIfStopped(Clock::time_point now) {
  if (now - planned_ <= respite_ / 2 || holds_ >= kMaxHolds) return;
  if (now >= Due()) ++holds_;
  hold_ = now + std::min(respite_, grace_ / 2);
  asked_for_ = {};
}

Patience::Clock::time_point GroupWait::Due() const {
  const Clock::time_point verdict = patience_.NextVerdict();
  return std::max(hold_, failed_until_ ? std::min(*failed_until_, verdict) : verdict);
}

std::string GroupWait::Waited(Clock::time_point now, bool so_far) const {
  return StrCat(operation_.text, ": rank ", group_.rank(), so_far ? " has waited " : " waited ",
                ToString(patience_.Waited(now)));
}

void GroupWait::Judge(Patience::Verdict verdict, Clock::time_point now) {
  if (failed_until_) {
    const bool early = verdict == Patience::Verdict::kGoOn || verdict == Patience::Verdict::kWarn;
    if (early && now < *failed_until_) return;
    const Operation& failed = Subject();
    const Group::Absence silent = group_.Silent(failed, now, asked_since_);
    return group_.Break(
        Unavailable(failed.text, ": rank ", group_.rank(), ": ", failed.failed.message(),
                    silent.ranks.empty() ? "" : "; lost: ", silent.text),
        silent.ranks);
  }
  switch (verdict) {
    case Patience::Verdict::kGoOn:
      return;
    case Patience::Verdict::kInterrupted: {
      const Group::Absence silent = group_.Silent(operation_, now, asked_since_);
      if (silent.ranks.empty()) return patience_.GoOn(now);  // ranks that answer are waited for
      return group_.Break(Unavailable(Waited(now, /*so_far=*/false), " for ", silent.text,
                                      " when it received the signal to end"),
                          silent.ranks);
    }
    case Patience::Verdict::kWarn:
    case Patience::Verdict::kTimedOut:
      break;
  }
  const bool warn = verdict == Patience::Verdict::kWarn;
  const Group::Absence missing = group_.Missing(operation_, now, asked_since_);
  std::string text = Waited(now, warn);
  StrAppend(&text, missing.ranks.empty()
                       ? std::string(", although all ranks called it: the transfer is slow")
                       : StrCat(" for ", missing.text));
  if (!warn) return group_.Break(absl::DeadlineExceededError(text), missing.ranks);
  warning_ = StrCat(text, "; gives up in ", ToString(patience_.Left(now)));
}

Patience::Clock::time_point GroupWait::Look(Clock::time_point now) {
  HoldIfStopped(now);
  if (group_.failed() != nullptr && !failed_until_) {
    failed_until_ = now + lead_;
    asked_for_ = {};
  }
  if (now >= hold_) Judge(patience_.Ask(now), now);
  if (!group_.broken().ok()) return now;
  const Clock::time_point due = Due();
  if (asked_for_ != due && due - now <= lead_) {
    asked_since_ = ask_again_ = now;
    asked_for_ = due;
  }
  if (asked_for_ == due && now >= ask_again_) {
    group_.Ask(Subject(), now, asked_since_, due);
    ask_again_ = now + std::max<Clock::duration>((due - asked_since_) / kQuestions, kLeastPause);
  }
  planned_ = std::min({due, asked_for_ == due ? ask_again_ : due - lead_, patience_.Next(now)});
  // What is over already is looked at soon.
  planned_ = std::max(planned_, now + milliseconds(1));
  return planned_;
}

}  // namespace dtnn
