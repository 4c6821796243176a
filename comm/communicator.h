// How the ranks of a data-parallel program exchange tensors, whatever carries the bytes.
//
// Rules, the same for every implementation:
//  - Every rank makes the same calls with the same sizes, dtypes and roots in the same order; only
//    waiting for asynchronous calls may happen in any order. A rank that differs gives all of them
//    InvalidArgument naming both sides.
//  - A sum is computed in the order rank 0 + rank 1 + ..., so its bits are the same on all ranks
//    and in every run, whoever arrives first. Integer sums wrap around.
//  - Wait blocks for the others no longer than the timeout, then answers DeadlineExceeded naming
//    the collective, the rank and who is missing. The transfer itself, once all are there, is not
//    cut off.
//  - Tensors are dense. From the start of a call until Wait has returned, nobody else may touch
//    them.
//  - After the first error the group is broken: pending and later calls on all ranks return it.
//  - A communicator is used by one thread at a time. Costs: README.md.

#ifndef DTNN_COMM_COMMUNICATOR_H_
#define DTNN_COMM_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn {

struct CommunicatorOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

// A collective on its way. Destroying it waits for it.
class Work {
 public:
  virtual ~Work() = default;
  // Returns when the result is in place; again the same answer when called again.
  virtual absl::Status Wait() = 0;
};

enum class CollectiveKind : uint8_t { kBarrier, kBroadcast, kAllReduce, kAllGather };

// One rank's call, checked: what an implementation is asked to carry out.
struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  Tensor input, output;  // the same tensor unless all-gather; empty for a barrier
  int root = 0;          // of a broadcast
  std::chrono::milliseconds timeout{0};

  // "all-reduce of 1024 float32", "broadcast of 10 float64 from rank 1", "barrier". Two ranks'
  // calls fit together exactly when these are equal.
  std::string ToString() const;
};

class Communicator {
 public:
  // For this call only; nothing: the option given at creation.
  using Timeout = std::optional<std::chrono::milliseconds>;

  virtual ~Communicator() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }

  absl::Status Barrier(Timeout timeout = {});
  // Every rank's tensor becomes root's.
  absl::Status Broadcast(const Tensor& tensor, int root, Timeout timeout = {});
  // Every rank's tensor becomes the sum of all ranks' tensors.
  absl::Status AllReduce(const Tensor& tensor, Timeout timeout = {});
  // output, size() times as large as input, becomes rank 0's input, then rank 1's, ... input may be
  // this rank's part of output.
  absl::Status AllGather(const Tensor& input, const Tensor& output, Timeout timeout = {});

  // Never null: what is wrong with a call is found by Wait. Whether bytes move before Wait depends
  // on the implementation.
  std::unique_ptr<Work> BroadcastAsync(const Tensor& tensor, int root, Timeout timeout = {});
  std::unique_ptr<Work> AllReduceAsync(const Tensor& tensor, Timeout timeout = {});
  std::unique_ptr<Work> AllGatherAsync(const Tensor& input, const Tensor& output,
                                       Timeout timeout = {});

  // Breaks the group: this rank cannot go on, and the others learn why instead of timing out.
  virtual void Abort(const absl::Status& why) = 0;

 protected:
  Communicator(int rank, int size, const CommunicatorOptions& options)
      : rank_(rank), size_(size), options_(options) {}

  virtual std::unique_ptr<Work> Start(const Collective& collective) = 0;

 private:
  absl::Status Check(const Collective& collective) const;
  std::unique_ptr<Work> CheckAndStart(Collective collective, Timeout timeout);

  int rank_, size_;
  CommunicatorOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_COMMUNICATOR_H_
