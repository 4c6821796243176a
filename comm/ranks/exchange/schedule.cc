#include "comm/ranks/exchange/schedule.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "comm/all_reduce_algorithm.h"
#include "comm/ranks/gradients/cost_model.h"

namespace dtnn {
namespace {

// Where the tags of an all-reduce's parts begin.
constexpr uint32_t kFold = 0, kHalve = 1, kDouble = 64;
// The same for an all-reduce in slices.
constexpr uint32_t kExchange = 0, kGather = 1;

class Builder {
 public:
  Builder(int rank, int size) : rank_(rank), size_(size) {}

  // The piece's place, or `after` where it would be empty.
  int Add(Piece::Kind kind, int peer, size_t begin, size_t end, uint32_t tag, int after = -1) {
    if (begin == end) return after;
    schedule_.push_back(
        {.kind = kind, .peer = peer, .begin = begin, .end = end, .tag = tag, .after = after});
    return int(schedule_.size()) - 1;
  }

  void Barrier() {
    int last = -1;
    size_t at = 0;
    for (int distance = 1; distance < size_; distance *= 2, ++at) {
      const int next = (rank_ + distance) % size_, previous = (rank_ + size_ - distance) % size_;
      Add(Piece::Kind::kSend, next, at, at + 1, uint32_t(at), last);
      last = Add(Piece::Kind::kReceive, previous, at + 1, at + 2, uint32_t(at));
    }
  }

  void Broadcast(int root, size_t bytes) {
    const int place = (rank_ + size_ - root) % size_;  // the root's is 0
    int received = -1;
    int distance = 1;
    for (; distance < size_ && (place & distance) == 0; distance *= 2) continue;
    if (distance < size_) {
      received = Add(Piece::Kind::kReceive, (rank_ + size_ - distance) % size_, 0, bytes, 0);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
      if (place + distance >= size_) continue;
      Add(Piece::Kind::kSend, (rank_ + distance) % size_, 0, bytes, 0, received);
    }
  }

  void AllGather(size_t bytes) {
    const size_t mine = size_t(rank_) * bytes;
    for (int i = 1; i < size_; ++i) {
      const int peer = (rank_ + i) % size_;
      Add(Piece::Kind::kSend, peer, mine, mine + bytes, 0);
      Add(Piece::Kind::kReceive, peer, size_t(peer) * bytes, size_t(peer + 1) * bytes, 0);
    }
  }

  void AllToAll(size_t bytes) {
    const size_t part = bytes / size_t(size_);
    for (int i = 1; i < size_; ++i) {
      const int to = (rank_ + i) % size_, from = (rank_ + size_ - i) % size_;
      Add(Piece::Kind::kSend, to, size_t(to) * part, size_t(to + 1) * part, 0);
      const size_t begin = bytes + size_t(from) * part;
      Add(Piece::Kind::kReceive, from, begin, begin + part, 0);
    }
  }

  void AllReduce(size_t bytes, size_t element_bytes);

  Schedule Take() { return std::move(schedule_); }

 private:
  const int rank_, size_;
  Schedule schedule_;
};

struct Range {
  size_t begin, end;
};

// The slice that the rank number `index` of `power` ranks owns when all halving is done, or, of an
// earlier step, the range that it shares with others.
Range SliceOf(int index, int steps, size_t elements, size_t element_bytes) {
  size_t begin = 0, end = elements;
  for (int step = 0; step < steps; ++step) {
    const size_t middle = begin + (end - begin) / 2;
    ((index >> step & 1) == 0 ? end : begin) = middle;
  }
  return {begin * element_bytes, end * element_bytes};
}

void Builder::AllReduce(size_t bytes, size_t element_bytes) {
  const size_t elements = bytes / element_bytes;
  const int power = int(std::bit_floor(unsigned(size_)));
  const int folded = size_ - power, steps = std::bit_width(unsigned(power)) - 1;
  const bool in_fold = rank_ < 2 * folded;
  const auto slice = [&](int index) { return SliceOf(index, steps, elements, element_bytes); };
  if (in_fold && rank_ % 2 == 1) {
    Add(Piece::Kind::kSend, rank_ - 1, 0, bytes, kFold);
    for (int index = 0; index < power; ++index) {
      const Range range = slice(index);
      Add(Piece::Kind::kReceive, rank_ - 1, range.begin, range.end,
          kDouble + uint32_t(power + index));
    }
    return;
  }
  const int index = in_fold ? rank_ / 2 : rank_ - folded;
  const auto rank_of = [&](int at) { return at < folded ? 2 * at : at + folded; };
  int last = in_fold ? Add(Piece::Kind::kReduce, rank_ + 1, 0, bytes, kFold) : -1;
  for (int step = 0; step < steps; ++step) {
    const int partner = index ^ 1 << step;
    const Range theirs = SliceOf(partner, step + 1, elements, element_bytes);
    const Range mine = SliceOf(index, step + 1, elements, element_bytes);
    const uint32_t tag = kHalve + uint32_t(step);
    Add(Piece::Kind::kSend, rank_of(partner), theirs.begin, theirs.end, tag, last);
    last = Add(Piece::Kind::kReduce, rank_of(partner), mine.begin, mine.end, tag, last);
  }
  std::vector<int> received(size_t(power), -1);  // by slice: the piece that brings its sum
  received[size_t(index)] = last;
  for (int step = steps - 1; step >= 0; --step) {
    const int partner = index ^ 1 << step;
    const int common = (2 << step) - 1;
    for (int owner = 0; owner < power; ++owner) {
      const Range range = slice(owner);
      const uint32_t tag = kDouble + uint32_t(owner);
      int& piece = received[size_t(owner)];
      if (((owner ^ index) & common) == 0) {
        Add(Piece::Kind::kSend, rank_of(partner), range.begin, range.end, tag, piece);
      } else if (((owner ^ partner) & common) == 0) {
        piece = Add(Piece::Kind::kReceive, rank_of(partner), range.begin, range.end, tag);
      }
    }
  }
  if (!in_fold) return;
  for (int owner = 0; owner < power; ++owner) {
    const Range range = slice(owner);
    Add(Piece::Kind::kSend, rank_ + 1, range.begin, range.end, kDouble + uint32_t(power + owner),
        received[size_t(owner)]);
  }
}

}  // namespace

Schedule MakeSchedule(CollectiveKind kind, int rank, int size, int root, size_t bytes,
                      size_t element_bytes) {
  Builder builder(rank, size);
  switch (kind) {
    case CollectiveKind::kBarrier:
      builder.Barrier();
      break;
    case CollectiveKind::kBroadcast:
      builder.Broadcast(root, bytes);
      break;
    case CollectiveKind::kAllReduce:
      builder.AllReduce(bytes, element_bytes);
      break;
    case CollectiveKind::kAllGather:
      builder.AllGather(bytes);
      break;
    case CollectiveKind::kAllToAll:
      builder.AllToAll(bytes);
      break;
    case CollectiveKind::kReduceScatter:
      break;
    case CollectiveKind::kSend:
      builder.Add(Piece::Kind::kSend, root, 0, bytes, 0);
      break;
    case CollectiveKind::kReceive:
      builder.Add(Piece::Kind::kReceive, root, 0, bytes, 0);
      break;
  }
  return builder.Take();
}

Slice SliceOfRank(int rank, int size, size_t bytes, size_t element_bytes) {
  const size_t elements = bytes / element_bytes, whole = elements / size_t(size);
  const size_t longer = elements % size_t(size);  // these slices have an element more
  const auto begin = [&](size_t slice) {
    return (slice * whole + std::min(slice, longer)) * element_bytes;
  };
  return {begin(size_t(rank)), begin(size_t(rank) + 1)};
}

Schedule MakeSliceExchange(int rank, int size, size_t bytes, size_t element_bytes) {
  Builder builder(rank, size);
  const size_t mine = SliceOfRank(rank, size, bytes, element_bytes).bytes();
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    const Slice theirs = SliceOfRank(peer, size, bytes, element_bytes);
    builder.Add(Piece::Kind::kSend, peer, theirs.begin, theirs.end, kExchange);
    const size_t begin = bytes + size_t(peer - (peer > rank ? 1 : 0)) * mine;
    builder.Add(Piece::Kind::kReceive, peer, begin, begin + mine, kExchange);
  }
  return builder.Take();
}

Schedule MakeSliceGather(int rank, int size, size_t bytes, size_t element_bytes) {
  Builder builder(rank, size);
  const Slice mine = SliceOfRank(rank, size, bytes, element_bytes);
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    const Slice theirs = SliceOfRank(peer, size, bytes, element_bytes);
    builder.Add(Piece::Kind::kSend, peer, mine.begin, mine.end, kGather);
    builder.Add(Piece::Kind::kReceive, peer, theirs.begin, theirs.end, kGather);
  }
  return builder.Take();
}

size_t SlicesPayFrom(std::span<const int> nodes) {
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  constexpr LinkCost kNetwork = {.latency = 50e-6, .seconds_per_byte = 8e-9};
  const Placement placement = PlacementOf(nodes);
  if (placement.nodes < 2 || placement.ranks_per_node > 1) return kNever;
  const Cluster cluster = {.ranks = int64_t(nodes.size()), .network = kNetwork};
  // As many bytes as a ring's, and fewer steps.
  const LinkCost slices = AllReduceCost(AllReduceAlgorithm::kRing, cluster);
  const LinkCost halving = AllReduceCost(AllReduceAlgorithm::kHalvingDoubling, cluster);
  const double saved = halving.seconds_per_byte - slices.seconds_per_byte;
  // A power of two sends as much either way, but for rounding.
  if (saved < 1e-3 * halving.seconds_per_byte) return kNever;
  return size_t(std::max(1.0, (slices.latency - halving.latency) / saved));
}

size_t BarrierBytes(int size) { return size_t(std::bit_width(unsigned(size - 1))) + 1; }

}  // namespace dtnn
