#include "comm/transport/shared/ring.h"

#include <algorithm>
#include <cstring>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<size_t> RingWriter::Write(std::span<const std::byte> from) {
  const size_t wanted = std::min(from.size(), kRingPortion);
  size_t room = ring_.size() - size_t(written_ - read_);
  if (room < wanted) {
    const uint64_t read = state_.read.load();
    if (written_ - read > ring_.size()) {
      return InvalidArgument("its count of bytes read from shared memory is not possible");
    }
    read_ = read;
    room = ring_.size() - size_t(written_ - read_);
  }
  const size_t count = std::min(wanted, room);
  if (count == 0) return 0;
  const size_t at = size_t(written_) & (ring_.size() - 1);
  const size_t first = std::min(count, ring_.size() - at);
  std::memcpy(ring_.data() + at, from.data(), first);
  std::memcpy(ring_.data(), from.data() + first, count - first);
  written_ += count;
  state_.written.store(written_);
  return count;
}

absl::StatusOr<size_t> RingReader::Read(std::span<std::byte> into) {
  // In this order: what was written before the end is read.
  const bool ended = state_.ended.load() != 0;
  const uint64_t there = state_.written.load() - read_;
  if (there > ring_.size()) {
    return InvalidArgument("its count of bytes written to shared memory is not possible");
  }
  if (there == 0 && ended) return absl::OutOfRangeError("closed by the other side");
  const size_t count = std::min({into.size(), size_t(there), kRingPortion});
  if (count == 0) return 0;
  const size_t at = size_t(read_) & (ring_.size() - 1);
  const size_t first = std::min(count, ring_.size() - at);
  std::memcpy(into.data(), ring_.data() + at, first);
  std::memcpy(into.data() + first, ring_.data(), count - first);
  read_ += count;
  state_.read.store(read_);
  return count;
}

}  // namespace dtnn
