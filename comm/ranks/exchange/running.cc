#include "comm/ranks/exchange/running.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "comm/reduce_in_order.h"

namespace dtnn {

void SumSlices(int rank, int size, ReduceOp op, DType dtype, size_t bytes,
               const CallMemory& memory) {
  const Slice mine = SliceOfRank(rank, size, bytes, SizeOf(dtype));
  const int64_t elements = int64_t(mine.bytes() / SizeOf(dtype));
  if (elements == 0) return;
  std::vector<std::byte*> parts;  // by rank, then sums of more and more
  for (int other = 0; other < size; ++other) {
    const size_t place = size_t(other - (other > rank ? 1 : 0));
    parts.push_back(other == rank ? memory.at(mine.begin)
                                  : memory.at(bytes + place * mine.bytes()));
  }
  const auto add = [&](std::byte* to, const std::byte* from) {
    const std::array<const std::byte*, 2> inputs = {to, from};
    ReduceInOrder(op, dtype, inputs, {&to, 1}, elements);
  };
  const size_t power = std::bit_floor(size_t(size)), folded = size_t(size) - power;
  for (size_t i = 0; i < folded; ++i) {
    add(parts[2 * i], parts[2 * i + 1]);
    parts[i] = parts[2 * i];
  }
  for (size_t i = folded; i < power; ++i) parts[i] = parts[i + folded];
  for (size_t step = 1; step < power; step *= 2) {
    for (size_t i = 0; i < power; i += 2 * step) add(parts[i], parts[i + step]);
  }
  if (parts[0] != memory.at(mine.begin)) {
    std::memcpy(memory.at(mine.begin), parts[0], mine.bytes());
  }
}

Running::Running(const PieceKey& key, Schedule schedule, const CallMemory& memory, ReduceOp op,
                 DType dtype)
    : key_(key),
      schedule_(std::move(schedule)),
      memory_(memory),
      op_(op),
      dtype_(dtype),
      states_(schedule_.size()),
      open_(schedule_.size()) {}

PieceKey Running::key(size_t piece) const {
  PieceKey key = key_;
  key.tag = schedule_[piece].tag;
  return key;
}

size_t Running::Ready(size_t piece) const {
  const Piece& p = schedule_[piece];
  if (p.after < 0) return p.bytes();
  const Piece& first = schedule_[size_t(p.after)];
  const size_t there = first.begin + states_[size_t(p.after)].done;
  return std::clamp(there, p.begin, p.end) - p.begin;
}

std::span<const std::byte> Running::Bytes(size_t piece, size_t begin, size_t count) const {
  return {memory_.at(schedule_[piece].begin) + begin, count};
}

void Running::Sent(size_t piece, size_t count) { Progress(piece, count); }

std::span<std::byte> Running::Room(size_t piece, size_t most) {
  const Piece& p = schedule_[piece];
  if (p.kind == Piece::Kind::kReduce) return {};
  const size_t done = states_[piece].done;
  return {memory_.at(p.begin) + done, std::min(most, p.bytes() - done)};
}

void Running::Received(size_t piece, size_t count) { Progress(piece, count); }

size_t Running::Missing(size_t piece) const {
  const State& state = states_[piece];
  return schedule_[piece].bytes() - state.done - (state.early.size() - state.early_at);
}

size_t Running::Combine(size_t piece, std::span<const std::byte> bytes) {
  const size_t whole = bytes.size() - bytes.size() % element_bytes();
  State& state = states_[piece];
  const size_t ready = state.early.empty() ? Ready(piece) - state.done : 0;
  const size_t now = std::min(whole, ready - ready % element_bytes());
  if (now > 0) Apply(piece, bytes.first(now));
  const std::span<const std::byte> rest = bytes.subspan(now, whole - now);
  state.early.insert(state.early.end(), rest.begin(), rest.end());
  return whole;
}

void Running::Apply(size_t piece, std::span<const std::byte> bytes) {
  std::byte* const sum = memory_.at(schedule_[piece].begin) + states_[piece].done;
  const std::array<const std::byte*, 2> inputs = {sum, bytes.data()};
  ReduceInOrder(op_, dtype_, inputs, {&sum, 1}, int64_t(bytes.size() / element_bytes()));
  Progress(piece, bytes.size());
}

void Running::ApplyEarly(size_t piece) {
  State& state = states_[piece];
  const size_t ready = Ready(piece) - state.done;
  const size_t count =
      std::min(ready - ready % element_bytes(), state.early.size() - state.early_at);
  if (count == 0) return;
  const std::span<const std::byte> bytes = std::span(state.early).subspan(state.early_at, count);
  state.early_at += count;
  Apply(piece, bytes);
  if (state.early_at < state.early.size()) return;
  state.early = {};
  state.early_at = 0;
}

void Running::Progress(size_t piece, size_t count) {
  State& state = states_[piece];
  state.done += count;
  if (state.done == schedule_[piece].bytes()) --open_;
  // What waited for these bytes.
  for (size_t next = piece + 1; next < schedule_.size(); ++next) {
    if (schedule_[next].after == int(piece) && !states_[next].early.empty()) ApplyEarly(next);
  }
}

}  // namespace dtnn
