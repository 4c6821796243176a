// Sums an arena of gradients over all ranks, in buckets from its end to its begin: the order in
// which a backward pass finishes them.
//
// Unless it blocks, the all-reduce of a bucket starts as soon as the bucket is final, so that it
// overlaps with the rest of the pass if the communicator makes progress by itself. Sums become
// available bucket by bucket in the same order: the optimizer works on one while the next ones are
// exchanged. Buckets may end at any 64-byte boundary, also inside parameters: all are equally large
// except for the one at the start of the arena, which is final last and whose exchange overlaps
// with nothing. An arena no larger than a bucket is one call.
//
// A step is Begin, any number of Ready, Finish: the same calls on every rank, in the same order
// among the communicator's other calls. The bits of the sums depend on the size of the buckets only
// if the communicator's do. The first error of a step is returned, after its outstanding
// collectives have come to their end. Costs: README.md.
//
// With 16-bit numbers on the wire (GradientReducerOptions::wire) a bucket has two steps
// (half_all_reduce.h): its second begins when the next bucket starts, or in Finish.
//
// Gradients of a device whose memory the host cannot reach are exchanged through a twin in the
// host's (kernels/transfers/exchange_twin.h): a bucket is copied there when it is final, and its
// all-reduce starts when the next one is, whatever the speed of the device, so that all ranks make
// the communicator's calls in the same order. Or the device sums them by itself
// (GradientReducerOptions::collectives).

#ifndef DTNN_COMM_RANKS_GRADIENTS_GRADIENT_REDUCER_H_
#define DTNN_COMM_RANKS_GRADIENTS_GRADIENT_REDUCER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/half_all_reduce.h"
#include "comm/sum_over_ranks.h"
#include "comm/wire/half.h"
#include "kernels/collective/device_collectives.h"
#include "kernels/transfers/exchange_twin.h"
#include "tensor/tensor.h"
#include "tensor/trace/observer.h"

namespace dtnn {

struct GradientReducerOptions {
  int64_t bucket_bytes = int64_t{4} << 20;  // at least 64
  // Every all-reduce starts in Finish and ends before the next one starts.
  bool blocking = true;
  // What numbers are on the wire; nothing: the gradients' own. Not with collectives.
  std::optional<HalfType> wire = {};
  // Sums each bucket instead of the communicator, in Finish, so it is always blocking; with neither
  // of the others.
  SumOverRanks sum = {};
  // Sums the gradients where they are, on their device, instead of the communicator, which then
  // only hears of failures. Must outlive the reducer.
  DeviceCollectives* collectives = nullptr;
};

class GradientReducer {
 public:
  // Elements [begin, end) of the arena.
  struct Bucket {
    int64_t begin = 0, end = 0;
  };

  // The buckets of an arena, in the order of their exchange; none where it has no elements.
  static std::vector<Bucket> Cut(DType dtype, int64_t elements, int64_t bucket_bytes);

  // The twin that the gradients of a device need, with a range for each bucket; else null.
  static absl::StatusOr<std::unique_ptr<ExchangeTwin>> TwinFor(DeviceContext& context, DType dtype,
                                                               int64_t elements,
                                                               int64_t bucket_bytes);

  // The communicator must outlive the reducer. `twin`: of TwinFor, where gradients are a device's
  // and there are no collectives.
  GradientReducer(Communicator& communicator, DType dtype, int64_t elements,
                  const GradientReducerOptions& options,
                  std::unique_ptr<ExchangeTwin> twin = nullptr);
  // Waits for what a failed step has left.
  ~GradientReducer() { Drain(); }
  GradientReducer(const GradientReducer&) = delete;

  const std::vector<Bucket>& buckets() const { return buckets_; }

  // A step over `gradients`, dense and of rank 1. After Ready, the caller must not touch what is
  // final until Finish has returned it. InvalidArgument for another type or size than the
  // reducer's.
  absl::Status Begin(const Tensor& gradients);
  // Everything from element `from` on is final.
  void Ready(int64_t from);
  // Everything is final. Calls reduced(i) as soon as bucket i is summed, for 0, 1, ...; an error of
  // it ends the step.
  absl::Status Finish(absl::FunctionRef<absl::Status(size_t bucket)> reduced);

  // The time that the callers have spent inside the communicator, including waiting for slower
  // ranks: the part of the exchange that did not overlap.
  double exposed_seconds() const { return exposed_seconds_; }
  // Steps that were finished.
  int64_t steps() const { return steps_; }

 private:
  absl::Status Told(const absl::Status& status);
  absl::Status Fetch(size_t bucket);
  // The all-reduces of all buckets before this one.
  absl::Status StartUntil(size_t bucket);
  absl::Status Start(size_t bucket);
  absl::Status AwaitSum(size_t bucket);
  absl::Status MakeHalves();
  Tensor PartOf(size_t bucket) const;
  Event EventOf(Activity activity, size_t bucket) const;
  void Drain();

  Communicator& communicator_;
  const DType dtype_;
  const int64_t elements_;
  const GradientReducerOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<std::unique_ptr<Work>> works_;  // per bucket; null where there is none outstanding
  std::vector<std::unique_ptr<HalfAllReduce>> halves_;  // per bucket, where the wire has 16 bits
  std::vector<bool> on_device_;     // per bucket: the collectives have been given it
  std::vector<uint64_t> flows_;     // per bucket, for observers
  size_t final_ = 0, started_ = 0;  // buckets of this step
  absl::Status status_;             // of the step, before Finish
  Tensor gradients_;
  std::unique_ptr<ExchangeTwin> twin_;  // null: the host reaches the gradients
  double exposed_seconds_ = 0;
  int64_t steps_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_GRADIENT_REDUCER_H_
