// What a run is doing, and for how long, for profiles and traces.
//
// Plans, step engines, loaders and communicators put a Span around what they do. It tells the
// observer of the calling thread, so that ranks that are threads of one process have one each, and
// nothing has to be handed down through options:
//
//   EventLog log;                        // models/observe/trace/event_log.h
//   const ScopedObserver watching(&log);
//   trainer->Train(...);
//
// A thread without an observer pays a load and a predictable branch per span. One with an observer
// pays two calls and two readings of the clock; observers allocate nothing and take no lock during
// a run. Spans of one thread nest.

#ifndef DTNN_TENSOR_TRACE_OBSERVER_H_
#define DTNN_TENSOR_TRACE_OBSERVER_H_

#include <cstdint>
#include <string_view>

namespace dtnn {

enum class Activity : uint8_t {
  kTraining,  // an epoch
  kValidation,
  kTest,
  kStep,      // one batch of training
  kEvaluate,  // one batch of validation or test
  kForward,   // of a layer in training
  kBackward,
  kInference,  // of a layer in evaluation
  kLoss,
  kExchange,          // starts summing a bucket of gradients over the ranks
  kWaitForGradients,  // until such a sum is complete
  kUpdate,            // the optimizer's pass over parameters
  kWaitForData,       // until a loader has the next batch
  kReadData,          // a loader reads samples, on a thread of its own
  kBarrier,           // calls of a communicator that return when they are complete
  kBroadcast,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSend,
  kReceive,
  kCheckpoint,
  kMemory,  // no time passes: `bytes` are in use by the process
  kEnergy,  // reads counters of energy: `bytes` microjoules were used since they were opened
};
inline constexpr int kActivities = int(Activity::kEnergy) + 1;

// "wait for gradients"
std::string_view Name(Activity activity);

// Something that was done.
struct Event {
  Activity activity = Activity::kStep;
  int32_t layer = -1;           // its id in the graph; -1: of no layer
  int64_t samples = 0;          // that were computed or read; 0: not counted
  int64_t bytes = 0;            // that were exchanged or written, unless the activity says so
  int64_t begin = 0, end = 0;   // nanoseconds of TraceClock
  int64_t first = 0, last = 0;  // of the gradients: elements [first, last) of their arena
  uint64_t flow = 0;            // the same for an exchange and the wait for it; 0: none
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Called by the thread that does it, which waits: Begin, where `end` is 0, then End. Several
  // threads may call one observer at once.
  virtual void Begin(const Event& /*event*/) {}
  virtual void End(const Event& event) = 0;
};

// Nanoseconds of a clock that never goes back, and that all processes of a host share.
int64_t TraceClock();

namespace internal {
inline constinit thread_local Observer* current_observer = nullptr;
}  // namespace internal

// The calling thread's; null: nobody is interested.
inline Observer* CurrentObserver() { return internal::current_observer; }

// Makes `observer` the calling thread's for as long as it lives.
class ScopedObserver {
 public:
  explicit ScopedObserver(Observer* observer) : before_(internal::current_observer) {
    internal::current_observer = observer;
  }
  ~ScopedObserver() { internal::current_observer = before_; }
  ScopedObserver(const ScopedObserver&) = delete;
  ScopedObserver& operator=(const ScopedObserver&) = delete;

 private:
  Observer* const before_;
};

// Tells `observer` that `event` lasts as long as the span lives.
class Span {
 public:
  explicit Span(const Event& event) : Span(CurrentObserver(), event) {}
  Span(Observer* observer, const Event& event) : observer_(observer) {
    if (observer != nullptr) [[unlikely]]
      Begin(event);
  }
  ~Span() {
    if (observer_ != nullptr) [[unlikely]]
      End();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void Begin(const Event& event);
  void End();

  Observer* const observer_;
  union {
    Event event_;  // only where there is an observer
  };
};

// Names an exchange, so that the wait for it can be recognised: unique in the process, never 0.
uint64_t NewFlow();

}  // namespace dtnn

#endif  // DTNN_TENSOR_TRACE_OBSERVER_H_
