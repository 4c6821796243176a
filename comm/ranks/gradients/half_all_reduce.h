// The sum of a tensor over all ranks with 16-bit numbers on the wire and float32 sums: half the
// bytes of an all-reduce, in two steps of any communicator.
//
// Each rank rounds its values to 16 bits and sends every other rank that one's slice of them; it
// adds up its own slice in float32, in the order of ranks, its own values rounded as theirs are,
// rounds the sum, and sends that to all. So every number is rounded twice, the bits are the same on
// all ranks, and they depend neither on the transport nor on how a tensor is cut.
//
//   bfloat16   rounds to 8 significant bits (relative error 2^-8 at most), as large as float32
//   float16    rounds to 11 (2^-11); numbers travel times 2^8, so that the largest is 255.9, from
//              2.4e-7 on none loses bits, and below 1.2e-10 all become 0
//
// NaN and infinity stay what they are. A finite number that is too large breaks the group
// (FailedPrecondition): it becomes no infinity.
//
// A sum is Begin, Add, Finish. Between Begin and Add, and between Add and Finish, the communicator
// works; all ranks make the calls in the same order among the communicator's other collectives.

#ifndef DTNN_COMM_RANKS_GRADIENTS_HALF_ALL_REDUCE_H_
#define DTNN_COMM_RANKS_GRADIENTS_HALF_ALL_REDUCE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/wire/half.h"
#include "tensor/tensor.h"

namespace dtnn {

class HalfAllReduce {
 public:
  // For tensors of so many elements, at least one. The communicator must outlive it.
  static absl::StatusOr<std::unique_ptr<HalfAllReduce>> Create(Communicator& communicator,
                                                               HalfType type, int64_t elements);
  // Waits for what a failed sum has left.
  ~HalfAllReduce() { Drop(); }
  HalfAllReduce(const HalfAllReduce&) = delete;

  // Dense float32 or float64. It is not written before Finish.
  absl::Status Begin(const Tensor& tensor);
  // Waits for the other ranks' values of this rank's slice. Nothing where it was called already.
  absl::Status Add();
  // Waits for all slices: the tensor becomes the sum.
  absl::Status Finish();
  // Waits for what is on its way, whatever becomes of it.
  void Drop();

 private:
  HalfAllReduce(Communicator& communicator, HalfType type, int64_t elements);

  std::span<uint16_t> Slice(int64_t of) const;
  // The values of rank `from` of this rank's slice.
  std::span<uint16_t> Received(int from) const;
  // Whether no sum of this rank's slice, from `begin` on, is infinite or NaN of finite numbers.
  bool NoneOverflowed(std::span<const float> sums, size_t begin) const;
  absl::Status TooLarge(const char* what);
  template <typename T>
  bool Encode(std::span<const T> numbers) const;
  template <typename T>
  void Decode(std::span<T> numbers) const;

  Communicator& communicator_;
  const HalfType type_;
  const float scale_;  // of numbers on the wire
  const int64_t elements_, slice_;
  Tensor tensor_;
  // Slices of all ranks, the last one filled up with zeros: this rank's values, then the sums.
  Tensor all_;
  Tensor received_;  // of this rank's slice, by rank
  std::unique_ptr<Work> work_;
  bool added_ = false;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_HALF_ALL_REDUCE_H_
