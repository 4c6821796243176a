#include "tensor/trace/observer.h"

#include <atomic>
#include <chrono>
#include <memory>

namespace dtnn {
namespace {

constexpr std::string_view kNames[kActivities] = {
    "training",       "validation", "test",    "step",      "evaluate",           "forward",
    "backward",       "inference",  "loss",    "exchange",  "wait for gradients", "update",
    "wait for data",  "read data",  "barrier", "broadcast", "all-reduce",         "all-gather",
    "reduce-scatter", "all-to-all", "send",    "receive",   "checkpoint",         "memory",
    "energy"};

}  // namespace

std::string_view Name(Activity activity) { return kNames[int(activity)]; }

int64_t TraceClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Span::Begin(const Event& event) {
  std::construct_at(&event_, event);
  event_.begin = TraceClock();
  observer_->Begin(event_);
}

void Span::End() {
  event_.end = TraceClock();
  observer_->End(event_);
}

uint64_t NewFlow() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace dtnn
