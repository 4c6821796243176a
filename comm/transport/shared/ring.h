// Bytes from one process to another in memory that both have mapped: one writes, one reads, neither
// ever waits.
//
// Each side counts what it has moved, tells the other, and keeps its own count to itself. What the
// other side says is only compared with it: a count that is not possible is an error, and no byte
// outside the ring is ever touched. The other side may still change bytes while they are read.
//
// No tool finds races between processes, so this is why there are none:
// - Bytes: a writer copies them in before it stores `written`, and a reader loads `written` before
//   it copies them out: a store that releases, a load that acquires. So it sees them all. `read` is
//   stored after the bytes were copied out, and a writer takes their places only once it has loaded
//   it: so it never overwrites bytes that are being read.
// - Sleep: a side that wants to sleep stores its flag, then loads the other's count; the other side
//   stores its count, then loads the flag. All four are sequentially consistent: in their one order
//   one of the two stores is the first, and the load that the other side does after its own store
//   sees it. So either the one side sees the bytes and stays awake, or the other one rings.
// - Flags are taken (exchange) before the bell is rung, so a flag that is set again meanwhile asks
//   for a bell of its own. A side that was woken looks at the counts before it sleeps again, so a
//   bell that it silences too early loses nothing.
// - Nothing is ever locked, so a process that ends at any point leaves nothing that the other one
//   waits for; its last count covers whole bytes, or none.
// Lock-free atomics are the same at any address, so two mappings of the memory are as good as one.

#ifndef DTNN_COMM_TRANSPORT_SHARED_RING_H_
#define DTNN_COMM_TRANSPORT_SHARED_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace dtnn {

// In the shared memory, zero at first. A cache line for each thing that one side changes often.
struct RingState {
  alignas(64) std::atomic<uint64_t> written;  // bytes since the beginning
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> ended;  // nothing more is written
  alignas(64) std::atomic<uint32_t> writer_sleeps;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// What a call moves at most, so that the other side can work on it meanwhile.
inline constexpr size_t kRingPortion = 32 << 10;

// The state and the ring, a power of two of bytes, outlive both.
class RingWriter {
 public:
  RingWriter(RingState& state, std::span<std::byte> ring) : state_(state), ring_(ring) {}

  // How many bytes were moved; 0: there is no room. InvalidArgument where the other side's count is
  // not possible.
  absl::StatusOr<size_t> Write(std::span<const std::byte> from);
  void End() { state_.ended.store(1); }
  bool has_room() const { return state_.read.load() + ring_.size() != written_; }
  // Says that this side sleeps, or that it does not any more. After the first look for room again.
  void set_sleeps(bool sleeps) { state_.writer_sleeps.store(sleeps ? 1 : 0); }
  // Whether the other side sleeps, which it does not any more then: to be asked after Write.
  bool TakeSleeper() {
    return state_.reader_sleeps.load() != 0 && state_.reader_sleeps.exchange(0) != 0;
  }

 private:
  RingState& state_;
  const std::span<std::byte> ring_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;  // as last seen
};

class RingReader {
 public:
  RingReader(RingState& state, std::span<const std::byte> ring) : state_(state), ring_(ring) {}

  // How many bytes were moved; 0: there are none. OutOfRange where there will be none,
  // InvalidArgument where the other side's count is not possible.
  absl::StatusOr<size_t> Read(std::span<std::byte> into);
  // Something to read, or the end.
  bool has_bytes() const { return state_.written.load() != read_ || state_.ended.load() != 0; }
  void set_sleeps(bool sleeps) { state_.reader_sleeps.store(sleeps ? 1 : 0); }
  // To be asked after Read.
  bool TakeSleeper() {
    return state_.writer_sleeps.load() != 0 && state_.writer_sleeps.exchange(0) != 0;
  }

 private:
  RingState& state_;
  const std::span<const std::byte> ring_;
  uint64_t read_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_SHARED_RING_H_
