#include "models/observe/trace/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "tensor/machine/resident_memory.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

constexpr int64_t kMemoryEvery = 100'000'000;  // nanoseconds

uint64_t NextSerial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

EventLog::EventLog(int64_t most_events)
    : serial_(NextSerial()),
      blocks_(CeilDiv(size_t(std::max<int64_t>(1, most_events)), kBlock)),
      memory_(std::make_unique_for_overwrite<std::byte[]>(blocks_ * kBlock * sizeof(Event))),
      counts_(std::make_unique<std::atomic<size_t>[]>(blocks_)),
      threads_(std::make_unique<int32_t[]>(blocks_)),
      statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

EventLog::~EventLog() {
  if (statm_ >= 0) close(statm_);
}

EventLog::Writer* EventLog::WriterOfThread() {
  struct Known {
    uint64_t log = 0;
    Writer* writer = nullptr;
  };
  static thread_local Known known;
  if (known.log == serial_) return known.writer;
  const std::thread::id self = std::this_thread::get_id();
  for (Writer& writer : writers_) {
    std::thread::id owner = writer.owner.load();
    if (owner == std::thread::id() && writer.owner.compare_exchange_strong(owner, self)) {
      owner = self;
    }
    if (owner != self) continue;
    known = {serial_, &writer};
    return &writer;
  }
  return nullptr;  // of more threads than anybody could look at
}

// In the writer's block, or in a new one.
bool EventLog::HasRoom(Writer& writer) {
  if (writer.block < blocks_ && counts_[writer.block].load(std::memory_order_relaxed) < kBlock) {
    return true;
  }
  if (used_.load(std::memory_order_relaxed) >= blocks_) return false;
  const size_t block = used_.fetch_add(1, std::memory_order_relaxed);
  if (block >= blocks_) return false;
  threads_[block] = int32_t(&writer - writers_.data()) + 1;
  writer.block = block;
  return true;
}

void EventLog::Add(const Event& event) {
  Writer* const writer = WriterOfThread();
  if (writer == nullptr || !HasRoom(*writer)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::atomic<size_t>& count = counts_[writer->block];
  const size_t place = count.load(std::memory_order_relaxed);
  std::construct_at(EventsOf(writer->block) + place, event);
  count.store(place + 1, std::memory_order_release);
}

void EventLog::End(const Event& event) {
  Add(event);
  if (event.activity != Activity::kStep || statm_ < 0) return;
  const int64_t asked = memory_asked_.load(std::memory_order_relaxed);
  if (asked != 0 && event.end - asked < kMemoryEvery) return;
  memory_asked_.store(event.end, std::memory_order_relaxed);
  const int64_t bytes = ResidentBytes(statm_);
  if (bytes > 0) {
    Add({.activity = Activity::kMemory, .bytes = bytes, .begin = event.end, .end = event.end});
  }
}

std::vector<LoggedEvent> EventLog::Events() const {
  std::vector<LoggedEvent> all;
  const size_t used = std::min(used_.load(), blocks_);
  for (size_t i = 0; i < used; ++i) {
    const size_t count = counts_[i].load(std::memory_order_acquire);
    for (size_t k = 0; k < count; ++k) all.push_back({EventsOf(i)[k], threads_[i]});
  }
  std::ranges::stable_sort(all, [](const LoggedEvent& a, const LoggedEvent& b) {
    return a.event.begin != b.event.begin ? a.event.begin < b.event.begin
                                          : a.event.end > b.event.end;
  });
  return all;
}

}  // namespace dtnn
