// Chooses the size of the buckets in which a run exchanges its gradients, with the cost model and
// from the run's own first steps and a few all-reduces.
//
// The first steps use buckets of kFirstBytes; the very first are not measured, because kernels are
// still being chosen then. If the bits of a sum depend on its size, the first size is kept, because
// a resumed run may measure something else and must continue with the same bits. That is so if
// large tensors are summed in stages, if the user has set Open MPI's algorithm
// (comm/all_reduce_algorithm.h), or if the last bucket may have fewer elements than there are
// ranks; never with 16-bit numbers on the wire.

#ifndef DTNN_MODELS_TRAINING_RANKS_BUCKET_CHOICE_H_
#define DTNN_MODELS_TRAINING_RANKS_BUCKET_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"
#include "comm/wire/half.h"
#include "tensor/dtype.h"

namespace dtnn {

class BucketChoice {
 public:
  static constexpr int64_t kFirstBytes = int64_t{4} << 20;
  // The number of steps that are not measured, and that are.
  static constexpr int kWarmUp = 3, kMeasured = 5;

  BucketChoice(DType dtype, int64_t elements, bool blocking, std::optional<HalfType> wire)
      : dtype_(dtype), elements_(elements), blocking_(blocking), wire_(wire) {}

  // A step: when gradients were final, when the backward pass ended, both in seconds since the
  // step's begin, and what the optimizer took.
  void Add(const std::vector<StepProfile::Event>& ready, double backward_seconds,
           double update_seconds);
  // All steps have been seen.
  bool complete() const { return steps_ == kWarmUp + kMeasured; }

  // All ranks call it together, and get the same answer, in bytes: about a tenth of a second on a
  // network of 1 Gbit/s, nothing for gradients of less than two of the smallest buckets.
  absl::StatusOr<int64_t> Choose(Communicator& communicator) const;

 private:
  absl::StatusOr<StepProfile> Profile(Communicator& communicator) const;

  const DType dtype_;
  const int64_t elements_;
  const bool blocking_;
  const std::optional<HalfType> wire_;
  int steps_ = 0;
  std::vector<int64_t> from_;               // of a step's events
  std::vector<std::vector<double>> ready_;  // by event, then by step
  std::vector<double> backward_, update_;   // by step
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_BUCKET_CHOICE_H_
