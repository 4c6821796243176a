// Measures the parameters of the cost model on the ranks of a job. Collective calls: all ranks make
// them together, with the same arguments, and get the same result. Times are medians, over a few
// repetitions, of the slowest rank's time: about a second on a network of 1 Gbit/s.

#ifndef DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_MEASURE_H_
#define DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_MEASURE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"
#include "comm/wire/half.h"

namespace dtnn {

// By messages between two ranks in both directions: the latency from short ones, the bandwidth from
// long ones. Other ranks do not communicate.
absl::StatusOr<LinkCost> MeasureLink(Communicator& communicator, int rank, int other);

// Seconds of an all-reduce of so many float32 values; with a `wire`, in such numbers
// (half_all_reduce.h).
absl::StatusOr<double> MeasureAllReduce(Communicator& communicator, int64_t elements,
                                        std::optional<HalfType> wire = {});

// Seconds per byte of adding an array that was received to another; of this rank alone.
double MeasureAddition();

// Every value becomes the largest of all ranks' at its place.
absl::Status TakeLargest(Communicator& communicator, std::span<double> values);

// The median of at least one value.
double Median(std::vector<double> values);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_COST_MODEL_MEASURE_H_
