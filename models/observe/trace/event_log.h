// Keeps all events of a rank until somebody writes them to a file (chrome_trace.h).
//
// Memory for `most_events` events is reserved at once and touched as it fills, 64 bytes per event;
// each thread fills blocks of its own, so telling an event takes no lock and allocates nothing. A
// full log keeps what it has and counts the rest. About ten times a second, after a step, it adds
// how much memory the process uses.

#ifndef DTNN_MODELS_OBSERVE_TRACE_EVENT_LOG_H_
#define DTNN_MODELS_OBSERVE_TRACE_EVENT_LOG_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tensor/trace/observer.h"

namespace dtnn {

struct LoggedEvent {
  Event event;
  int32_t thread = 1;  // from 1, in the order in which threads told their first event
};

class EventLog : public Observer {
 public:
  static constexpr int64_t kMostEvents = 1'000'000;
  static constexpr size_t kMostThreads = 256;

  explicit EventLog(int64_t most_events = kMostEvents);
  ~EventLog() override;
  EventLog(const EventLog&) = delete;

  void End(const Event& event) override;

  // All events, in the order of their begins; of two that begin together, the longer one first.
  // Threads may still report events: those of now may be missing.
  std::vector<LoggedEvent> Events() const;
  // Those that did not fit.
  int64_t dropped() const { return dropped_; }

 private:
  static constexpr size_t kBlock = 1024;  // events

  // A thread, and the block that it fills.
  struct Writer {
    std::atomic<std::thread::id> owner;
    size_t block = SIZE_MAX;  // none yet
  };

  Writer* WriterOfThread();
  bool HasRoom(Writer& writer);
  void Add(const Event& event);
  Event* EventsOf(size_t block) const {
    return reinterpret_cast<Event*>(memory_.get()) + block * kBlock;
  }

  const uint64_t serial_;  // of all logs of the process
  const size_t blocks_;
  const std::unique_ptr<std::byte[]> memory_;            // of the events of all blocks
  const std::unique_ptr<std::atomic<size_t>[]> counts_;  // per block: events that are complete
  const std::unique_ptr<int32_t[]> threads_;             // per block that is not empty
  std::atomic<size_t> used_ = 0;                         // blocks
  std::atomic<int64_t> dropped_ = 0;
  std::array<Writer, kMostThreads> writers_;
  int statm_ = -1;                         // the file that says how much memory is in use
  std::atomic<int64_t> memory_asked_ = 0;  // when
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_EVENT_LOG_H_
