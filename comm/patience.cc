#include "comm/patience.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// How soon an interruption is noticed.
constexpr std::chrono::milliseconds kAskAgain(20);

// Far enough away, and still a valid time.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(9999);

}  // namespace

Patience::Patience(const CommunicatorOptions& options, std::chrono::milliseconds timeout,
                   Clock::time_point start)
    : options_(options), start_(start), deadline_(start + std::min(timeout, kForever)) {
  if (options.warn) warn_at_ = start + std::min(options.warn_after, kForever);
}

Patience::Verdict Patience::Ask(Clock::time_point now) {
  if (!give_up_ && options_.interrupted && options_.interrupted()) {
    give_up_ = now + std::min(options_.grace, kForever);
  }
  if (now >= deadline_) return Verdict::kTimedOut;
  if (give_up_ && now >= *give_up_) return Verdict::kInterrupted;
  if (warn_at_ && now >= *warn_at_) {
    warn_at_.reset();
    return Verdict::kWarn;
  }
  return Verdict::kGoOn;
}

void Patience::GoOn(Clock::time_point now) { give_up_ = now + std::min(options_.grace, kForever); }

Patience::Clock::time_point Patience::NextVerdict() const {
  Clock::time_point next = deadline_;
  if (warn_at_) next = std::min(next, *warn_at_);
  if (give_up_) next = std::min(next, *give_up_);
  return next;
}

Patience::Clock::time_point Patience::Next(Clock::time_point now) const {
  const Clock::time_point verdict = NextVerdict();
  return options_.interrupted && !give_up_ ? std::min(verdict, now + kAskAgain) : verdict;
}

std::chrono::milliseconds Patience::Waited(Clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::min(now, deadline_) - start_);
}

std::chrono::milliseconds Patience::Left(Clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - now);
}

std::string ToString(std::chrono::milliseconds time) {
  constexpr int64_t kWholeSeconds = 10'000;
  if (time.count() < kWholeSeconds) return StrCat(time.count(), " ms");
  return StrCat((time.count() + 500) / 1000, " s");
}

std::string RankList(const std::vector<int>& ranks) {
  return StrCat(ranks.size() == 1 ? "rank " : "ranks ", absl::StrJoin(ranks, ", "));
}

}  // namespace dtnn
