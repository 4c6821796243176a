// How the ranks of a data-parallel program exchange tensors, independently of the transport.
//
// Rules, the same for every implementation:
//  - Every rank makes the same collective calls with the same sizes, dtypes and roots in the same
//    order; only waiting for asynchronous calls may happen in any order. Where calls are checked
//    (CommunicatorOptions::check_calls) a rank that differs gives all of them InvalidArgument
//    naming both sides; elsewhere it may end in wrong values, or in a timeout.
//  - A send meets the receive of the same number between the same two ranks, independently of
//    collectives and of other pairs.
//  - The bits of a sum are the same on all ranks and in every run with as many ranks in the same
//    places, whichever arrives first; those of a reduce-scatter are the same with every
//    implementation. Integer sums wrap around. Minimum and maximum are not for NaN.
//  - A wait ends with DeadlineExceeded when the others have not come within the timeout, with
//    Unavailable when one of them is gone; the message names the call, this rank and the
//    missing ones.
//  - Tensors are dense, in host memory, and not of 16 bits. From the start of a call until Wait has
//    returned, nobody else may touch them (several sends may read the same one).
//  - After the first error the group is broken: pending and later calls on all ranks return it. The
//    tensors of calls that were on their way then hold anything, and with ranks that are processes
//    may still be written to: drop them, their memory lives as long as it is needed.
//  - A communicator is used by one thread at a time. Costs: README.md.

#ifndef DTNN_COMM_COMMUNICATOR_H_
#define DTNN_COMM_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tensor/tensor.h"

namespace dtnn {

struct CommunicatorOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  // Called once when a wait lasts this long, with a line that names the call and the missing ranks;
  // the wait then continues. Called by the waiting thread; must not use the communicator.
  std::chrono::milliseconds warn_after = std::chrono::minutes(1);
  std::function<void(std::string_view)> warn = {};
  // Returns true once this process should end (after a signal). From then on a wait fails with
  // Unavailable when a rank that it needs has not answered for `grace`; it still waits for ranks
  // that are only slow. Called often, by any thread: must be fast, and must not use the
  // communicator.
  std::function<bool()> interrupted = {};
  std::chrono::milliseconds grace{500};
  // Compare the calls of all ranks before executing them: one more small exchange per call. Ranks
  // of one process always do this.
  bool check_calls = false;
};

// A pending call. Its destructor waits for it. Must not be waited for after its communicator was
// destroyed.
class Work {
 public:
  virtual ~Work() = default;
  // Returns when the result is complete; returns the same again when called again.
  virtual absl::Status Wait() = 0;
};

enum class ReduceOp : uint8_t { kSum, kMin, kMax };

enum class CollectiveKind : uint8_t {
  kBarrier,
  kBroadcast,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  // Between two ranks only:
  kSend,
  kReceive,
};

// What must be equal on all ranks; can be sent as bytes.
struct CallSignature {
  CollectiveKind kind = CollectiveKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  DType dtype = DType::kFloat32;
  uint8_t reserved = 0;  // no byte is left unset
  int32_t root = 0;
  int64_t elements = 0;

  // "all-reduce of 1024 float32", "broadcast of 10 float64 from rank 1", "barrier". For
  // messages to people; Fits compares.
  std::string ToString() const;
  // Whether this call and one of another rank fit together; a send fits a receive of its size.
  bool Fits(const CallSignature& other) const;
};

// One rank's call, after checks: what an implementation executes.
struct Collective {
  CollectiveKind kind = CollectiveKind::kBarrier;
  // The same tensor for a broadcast, an all-reduce and a message; empty for a barrier.
  Tensor input = {}, output = {};
  int root = 0;  // of a broadcast; the other rank of a send or a receive
  ReduceOp op = ReduceOp::kSum;
  bool waits_at_once = false;  // the caller does nothing else before Wait
  std::chrono::milliseconds timeout{0};

  bool between_two() const { return kind >= CollectiveKind::kSend; }
  // The input has a part for each rank, all of one size.
  bool in_parts() const {
    return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll;
  }
  CallSignature signature() const;
  std::string ToString() const { return signature().ToString(); }
  bool Fits(const Collective& other) const { return signature().Fits(other.signature()); }
};

// Where a rank is: which host, in the order of the hosts' first ranks, and its place among the
// ranks there, in the order of ranks.
struct RankPlace {
  int rank = 0, size = 1;
  int node = 0, node_rank = 0, node_size = 1;
};

class Communicator {
 public:
  // For this call only; nothing: the option given at creation.
  using Timeout = std::optional<std::chrono::milliseconds>;

  virtual ~Communicator() = default;
  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  const RankPlace& place() const { return place_; }

  absl::Status Barrier(Timeout timeout = {});
  // Every rank's tensor becomes root's.
  absl::Status Broadcast(const Tensor& tensor, int root, Timeout timeout = {});
  // Every rank's tensor becomes the sum (minimum, maximum), element by element, of all ranks'.
  absl::Status AllReduce(const Tensor& tensor, ReduceOp op = ReduceOp::kSum, Timeout timeout = {});
  // output, size() times as large as input, becomes rank 0's input, then rank 1's, ... input may be
  // this rank's part of output.
  absl::Status AllGather(const Tensor& input, const Tensor& output, Timeout timeout = {});
  // input, size() times as large as output, is a part for each rank, one after another: output
  // becomes the sum (minimum, maximum) of all ranks' parts for this rank, added in the order of
  // ranks. output may be this rank's part of input; the rest of input is not changed.
  absl::Status ReduceScatter(const Tensor& input, const Tensor& output,
                             ReduceOp op = ReduceOp::kSum, Timeout timeout = {});
  // Both are a part for each rank, one after another: part j of rank i's input becomes part i of
  // rank j's output. They must not overlap.
  absl::Status AllToAll(const Tensor& input, const Tensor& output, Timeout timeout = {});
  // Rank `to` calls Receive with a tensor of the same size and dtype. May wait for it.
  absl::Status Send(const Tensor& tensor, int to, Timeout timeout = {});
  absl::Status Receive(const Tensor& tensor, int from, Timeout timeout = {});

  // Never null: Wait returns the errors of a call. Whether bytes are transferred before Wait
  // depends on the implementation.
  std::unique_ptr<Work> BroadcastAsync(const Tensor& tensor, int root, Timeout timeout = {});
  std::unique_ptr<Work> AllReduceAsync(const Tensor& tensor, ReduceOp op = ReduceOp::kSum,
                                       Timeout timeout = {});
  std::unique_ptr<Work> AllGatherAsync(const Tensor& input, const Tensor& output,
                                       Timeout timeout = {});
  std::unique_ptr<Work> ReduceScatterAsync(const Tensor& input, const Tensor& output,
                                           ReduceOp op = ReduceOp::kSum, Timeout timeout = {});
  std::unique_ptr<Work> AllToAllAsync(const Tensor& input, const Tensor& output,
                                      Timeout timeout = {});
  std::unique_ptr<Work> SendAsync(const Tensor& tensor, int to, Timeout timeout = {});
  std::unique_ptr<Work> ReceiveAsync(const Tensor& tensor, int from, Timeout timeout = {});

  // The time that this rank has spent inside the calls above and waiting for them so far: the part
  // of the exchange that did not overlap with its own work, including the delay of slower ranks.
  double waited_seconds() const { return waited_seconds_; }

  // Breaks the group: this rank cannot continue, and the others learn why ("rank 1 gave up: ...",
  // with the code of `why`) instead of timing out.
  virtual void Abort(const absl::Status& why) = 0;

  // The ranks that broke the group, sorted: they did not answer in time, left while they were
  // needed, or gave up. The same on all other ranks that received the message. Empty while the
  // group is intact.
  virtual std::vector<int> lost() const = 0;

  // Returns when `rank` has destroyed its communicator or is lost, at the latest after the timeout:
  // its departure code, or nothing if it has not left by itself. For ranks that must not leave
  // while another still writes a file, also when the group is broken.
  virtual std::optional<int32_t> AwaitDeparture(int rank, Timeout timeout = {}) = 0;
  // What AwaitDeparture returns on other ranks once this rank has left; 0 unless it is set.
  virtual void set_departure_code(int32_t code) = 0;

 protected:
  // All ranks on one host.
  Communicator(int rank, int size, const CommunicatorOptions& options)
      : Communicator({.rank = rank, .size = size, .node_rank = rank, .node_size = size}, options) {}
  Communicator(const RankPlace& place, const CommunicatorOptions& options)
      : place_(place), options_(options) {}

  virtual std::unique_ptr<Work> Start(const Collective& collective) = 0;

  const CommunicatorOptions& options() const { return options_; }

 private:
  absl::Status Check(const Collective& collective) const;
  absl::Status CheckSizes(const Collective& collective) const;
  std::unique_ptr<Work> CheckAndStart(Collective collective, Timeout timeout);
  std::unique_ptr<Work> Begin(Collective collective, Timeout timeout);
  absl::Status Run(Collective collective, Timeout timeout);

  double waited_seconds_ = 0;
  const RankPlace place_;
  CommunicatorOptions options_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_COMMUNICATOR_H_
