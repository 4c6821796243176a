// A collective as the pieces that one rank sends and receives, and what each of them waits for.
//
// A piece is a range of bytes of the call's memory. A piece that comes after another one needs what
// that one receives: it follows as the bytes arrive, not when the last one has, so that the stages
// of an algorithm overlap. Both sides compute the same pieces; the tag tells which belong together.
//   all-reduce   halving and doubling, nearest ranks first; where p is not a power of two, the
//   ranks
//                too many first add to a neighbour, and get the result at the end (Thakur,
//                Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005). Every
//                element is summed in the same order, wherever it is: ((0 + 1) + (2 + 3)) + ...
//                Or in slices, where that sends less (SlicesPayFrom): each rank receives all
//                others' values of its slice, adds them in that same order, and sends the sum to
//                all.
//   broadcast    binomial tree
//   all-gather   every rank to every other at once
//   all-to-all   likewise
//   barrier      dissemination, a byte per message (Hensgen, Finkel and Manber, Int. J. Parallel
//                Program. 17, 1988)

#ifndef DTNN_COMM_RANKS_EXCHANGE_SCHEDULE_H_
#define DTNN_COMM_RANKS_EXCHANGE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace dtnn {

struct Piece {
  enum class Kind : uint8_t {
    kSend,
    kReceive,
    kReduce,  // receives, and combines with what is there
  };
  Kind kind = Kind::kSend;
  int peer = 0;
  size_t begin = 0, end = 0;  // bytes; never empty
  uint32_t tag = 0;           // the same at the other end; one of a kind between two ranks
  int after = -1;             // an earlier piece of the schedule, whose range contains this one's

  size_t bytes() const { return end - begin; }
};

using Schedule = std::vector<Piece>;

// The pieces of `rank` among `size` ranks, at least two. `bytes` of a tensor whose elements have
// `element_bytes`; an all-gather's are those of one rank's input, and its memory is the output.
// An all-to-all's memory is its input, and behind it its output; a rank's own part is left out.
// A barrier's memory has BarrierBytes(size). A reduce-scatter has none: it is an all-to-all, whose
// parts are then added.
Schedule MakeSchedule(CollectiveKind kind, int rank, int size, int root, size_t bytes,
                      size_t element_bytes);
size_t BarrierBytes(int size);

// No more pieces go from one rank to another in one schedule. (One whose neighbour was folded into
// it sends that one the slices of a power of two of ranks.)
constexpr size_t MostPiecesBetween(int size) { return size_t(size); }

// An all-reduce in slices, first half: a rank's slice of all others goes behind the tensor, in the
// order of ranks, its own left out; SliceMemory in all. Second half: the sums go to all.
Schedule MakeSliceExchange(int rank, int size, size_t bytes, size_t element_bytes);
Schedule MakeSliceGather(int rank, int size, size_t bytes, size_t element_bytes);

struct Slice {
  size_t begin, end;  // bytes of the tensor
  size_t bytes() const { return end - begin; }
};
Slice SliceOfRank(int rank, int size, size_t bytes, size_t element_bytes);

// From so many bytes on slices pay, by the cost model (cost_model.h) for a network of 1 Gbit/s with
// 50 us; the largest number where they never do. `nodes`: each rank's host. Where ranks share a
// host, and so its link, and where their number is a power of two, halving and doubling is as good.
size_t SlicesPayFrom(std::span<const int> nodes);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_SCHEDULE_H_
