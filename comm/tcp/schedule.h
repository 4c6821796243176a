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
//   broadcast    binomial tree
//   all-gather   every rank to every other at once
//   barrier      dissemination, a byte per message (Hensgen, Finkel and Manber, Int. J. Parallel
//                Program. 17, 1988)

#ifndef DTNN_COMM_TCP_SCHEDULE_H_
#define DTNN_COMM_TCP_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
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

// Of `rank` among `size` ranks, at least two. `bytes` of a tensor whose elements have
// `element_bytes`; an all-gather's are those of one rank's input, and its memory is the output.
// A barrier's memory has BarrierBytes(size).
Schedule MakeSchedule(CollectiveKind kind, int rank, int size, int root, size_t bytes,
                      size_t element_bytes);
size_t BarrierBytes(int size);

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_SCHEDULE_H_
