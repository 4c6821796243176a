// A collective on its way: its memory, its pieces, and how far each of them is.
//
// Of the thread that moves the bytes. A piece that is added to what is there may arrive before what
// it comes after, since ranks are not equally fast: its bytes are kept until then, so that the
// order of a sum is always the same.

#ifndef DTNN_COMM_RANKS_EXCHANGE_RUNNING_H_
#define DTNN_COMM_RANKS_EXCHANGE_RUNNING_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/ranks/exchange/frame.h"
#include "comm/ranks/exchange/schedule.h"
#include "tensor/dtype.h"

namespace dtnn {

// What the offsets of a schedule mean: `first`, and after its bytes `second`. No piece is in both.
struct CallMemory {
  std::byte* first = nullptr;
  size_t first_bytes = 0;
  std::byte* second = nullptr;

  std::byte* at(size_t offset) const {
    return offset < first_bytes || second == nullptr ? first + offset
                                                     : second + (offset - first_bytes);
  }
};

// Between the halves of an all-reduce in slices (schedule.h): this rank's slice becomes the sum of
// all ranks', in the order of halving and doubling, so that its bits are the same either way. The
// second memory holds the others'; it is overwritten.
void SumSlices(int rank, int size, ReduceOp op, DType dtype, size_t bytes,
               const CallMemory& memory);

class Running {
 public:
  // `key`: of the pieces, but for their tags. The memory outlives it.
  Running(const PieceKey& key, Schedule schedule, const CallMemory& memory, ReduceOp op,
          DType dtype);

  const Schedule& schedule() const { return schedule_; }
  PieceKey key(size_t piece) const;
  bool complete() const { return open_ == 0; }

  // How many bytes of a piece to send may be sent already.
  size_t Ready(size_t piece) const;
  std::span<const std::byte> Bytes(size_t piece, size_t begin, size_t count) const;
  void Sent(size_t piece, size_t count);

  // Where the next bytes of a piece to receive go, no more than `most`. Empty where they are
  // combined with what is there, or kept, by Combine, which returns how many it took: whole
  // elements.
  std::span<std::byte> Room(size_t piece, size_t most);
  void Received(size_t piece, size_t count);
  size_t Combine(size_t piece, std::span<const std::byte> bytes);
  // What has not arrived yet.
  size_t Missing(size_t piece) const;
  size_t element_bytes() const { return SizeOf(dtype_); }

  // The ranks' calls do not fit together.
  const absl::Status& error() const { return error_; }
  void Fail(const absl::Status& error) { error_ = error; }

 private:
  struct State {
    size_t done = 0;                    // sent, or received and combined
    std::vector<std::byte> early = {};  // arrived, but not combined yet, from early_at on
    size_t early_at = 0;
  };

  void Progress(size_t piece, size_t count);
  // The next bytes of a sum.
  void Apply(size_t piece, std::span<const std::byte> bytes);
  void ApplyEarly(size_t piece);

  const PieceKey key_;
  const Schedule schedule_;
  const CallMemory memory_;
  const ReduceOp op_;
  const DType dtype_;
  std::vector<State> states_;
  size_t open_;
  absl::Status error_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_RUNNING_H_
