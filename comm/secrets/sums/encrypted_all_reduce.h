// The sum of a tensor over all ranks with ciphertexts on the wire: a carrier of the messages (MPI,
// a server, a broker) learns none of the numbers. CKKS with one key that all ranks have
// (comm/secrets/ckks), so ranks are not protected from each other (docs/security.md).
//
// A tensor is cut into chunks of one ciphertext each. Every rank encrypts its numbers and sends
// chunk c to rank c mod size, which adds up those of all ranks without using the key and sends the
// sum to all; each decrypts it, and rounds it to a multiple of a power of two that is larger than
// all errors of encryption. So all ranks get the same bits, and zero where all have zero. Where
// they have not, bits may be others in every run. Before it is rounded to float32, a sum is wrong
// by at most 64 size / scale: 5.8e-11 size with the default parameters.
//
// Messages are bound to this run, call, chunk and rank (authenticated.h): what was changed on the
// way, or recorded earlier, is refused. A number that is NaN, infinite, or not below sum_limit() /
// size (with the default parameters 2^18 / size) gives OutOfRange, as a loss does that has
// diverged. An error on one rank breaks the group, and all ranks get its number: in this
// call, or, where they have had good sums before, in their next. Memory: about eight chunks, or one
// per rank where those are more. Costs: comm/ranks/gradients/README.md.

#ifndef DTNN_COMM_SECRETS_SUMS_ENCRYPTED_ALL_REDUCE_H_
#define DTNN_COMM_SECRETS_SUMS_ENCRYPTED_ALL_REDUCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/ckks/parameters.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/sums/authenticated.h"
#include "tensor/tensor.h"

namespace dtnn {

class EncryptedAllReduce {
 public:
  // All ranks call it together; the communicator must outlive it. All ranks get the same error,
  // which names the first rank that cannot continue, or has other parameters or another key than
  // rank 0: InvalidArgument for parameters and keys.
  static absl::StatusOr<std::unique_ptr<EncryptedAllReduce>> Create(
      Communicator& communicator, const ckks::CkksParameters& parameters, const Secret& key);

  // Dense float32 in the host's memory, any number of them, the same on all ranks. After an error
  // the tensor holds anything.
  absl::Status Sum(const Tensor& tensor);

 private:
  // Messages of `bytes` each, in a place for every chunk that is under way.
  struct Slots {
    Tensor all;
    size_t bytes = 0;
    std::span<uint8_t> At(size_t slot) const { return {all.data<uint8_t>() + slot * bytes, bytes}; }
    Tensor Range(size_t first, size_t count) const {
      return all.Samples(int64_t(first * bytes), int64_t(count * bytes), TensorFormat::kNHWC);
    }
  };

  EncryptedAllReduce(Communicator& communicator, double scale,
                     std::unique_ptr<codec::UpdateClient> client,
                     std::unique_ptr<codec::UpdateServer> server);

  // For messages of so many bytes.
  absl::Status AllocateSlots(size_t own_bytes, size_t sum_bytes);
  // Chunks [first, first + count) of the numbers.
  absl::Status SumGroup(std::span<float> numbers, size_t first, size_t count);
  absl::Status SendToAdders(size_t count);
  absl::Status AddMine(std::span<float> numbers, size_t first, size_t count);
  absl::Status SendSums(size_t count);
  absl::Status Read(std::span<float> numbers, size_t first, size_t count);
  absl::Status Await();
  absl::Status Fail(const absl::Status& status);

  // The slot of a chunk of a group; chunks that one rank adds are side by side.
  size_t SlotOf(size_t chunk) const { return chunk % ranks_ * per_rank_ + chunk / ranks_; }
  // That rank `adder` adds of a group.
  size_t ChunksOf(size_t adder, size_t count) const {
    return (count + ranks_ - 1 - adder) / ranks_;
  }
  std::span<float> Part(std::span<float> numbers, size_t chunk) const;

  Communicator& communicator_;
  const std::unique_ptr<codec::UpdateClient> client_;
  const std::unique_ptr<codec::UpdateServer> server_;
  const size_t ranks_, me_, per_rank_, chunk_values_;
  const double step_;  // sums are multiples of it
  Slots own_;          // this rank's numbers
  Slots received_;     // other ranks' numbers of the chunks that this rank adds, by rank
  Slots sums_;
  uint64_t calls_ = 0;
  std::vector<std::unique_ptr<Work>> works_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_SUMS_ENCRYPTED_ALL_REDUCE_H_
