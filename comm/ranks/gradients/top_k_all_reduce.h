// The sum of what is largest in the gradients of all ranks; the rest waits for the next step
// (Li and Hoefler, "Near-optimal sparse allreduce for distributed deep learning", PPoPP 2022).
//
// A rank adds its gradient to its residual and takes what is not below its threshold, about
// `density` of all. The arena is cut into a region per rank, each with about as many of these
// values: a rank sends every other rank the values of that one's region, with their places, and
// adds up those of its own, in the order of ranks. Of the sums, about `density` of all go to all
// ranks: those not below a common threshold. What a rank has sent and what has become part of the
// result is taken from its residual. So nothing is lost: result and residuals, over all ranks, are
// the sum of gradients and residuals before.
//
//   every tau steps      regions are cut anew
//   every tau_prime      both thresholds are computed exactly; also where an old one would select
//                        less than half of what it should, or more than twice as much
//
// About 6 density (P-1)/P n numbers and places of 4 bytes each are sent per rank and step, against
// 2 (P-1)/P n numbers of an all-reduce; with a density of 1 the result is the sum of all. The bits
// are the same on all ranks. NaN and infinity are always sent. Over any communicator; float32, less
// than 2^31 elements.

#ifndef DTNN_COMM_RANKS_GRADIENTS_TOP_K_ALL_REDUCE_H_
#define DTNN_COMM_RANKS_GRADIENTS_TOP_K_ALL_REDUCE_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "tensor/tensor.h"

namespace dtnn {

struct TopKOptions {
  double density = 0.01;  // above 0, at most 1
  int64_t tau = 64, tau_prime = 32;
};

class TopKAllReduce {
 public:
  // InvalidArgument for options out of range, or too many elements. The communicator must outlive
  // it.
  static absl::StatusOr<TopKAllReduce> Create(Communicator& communicator,
                                              const TopKOptions& options, int64_t elements);

  // Step number `step`, from 1: `gradients`, times `scale`, become the result; `residual`, of this
  // rank, takes part in it. All ranks call it together. Where it fails the residual stays as it
  // was, and gradients are anything.
  absl::Status Run(const Tensor& gradients, const Tensor& residual, double scale, int64_t step);

  // Numbers of the last step, on this rank.
  struct Volume {
    int64_t selected = 0;    // of its own values
    int64_t result = 0;      // values that all ranks got
    int64_t bytes_sent = 0;  // in messages to other ranks; the counts before them are left out
  };
  const Volume& volume() const { return volume_; }

  // Thresholds and regions, for a run that continues with the same bits. All ranks call GatherState
  // together and get the same.
  absl::StatusOr<std::vector<double>> GatherState();
  // What GatherState gave on as many ranks. A state of another number of ranks, or nothing: the
  // next step computes all anew. InvalidArgument for what cannot be one.
  absl::Status SetState(std::span<const double> state);

 private:
  // Values and their places, ascending.
  struct List {
    std::vector<int32_t> places;
    std::vector<float> values;

    size_t size() const { return places.size(); }
    void clear() { places.clear(), values.clear(); }
    void Add(int32_t place, float value) { places.push_back(place), values.push_back(value); }
    void Append(const List& other, size_t begin, size_t end);
  };
  using Range = std::pair<int64_t, int64_t>;  // of a list

  TopKAllReduce(Communicator& communicator, const TopKOptions& options, int64_t elements);

  // False, and some of them, where there are too few or too many.
  bool Select(std::span<const float> numbers, uint32_t threshold, bool all);
  absl::Status CutRegions();
  absl::Status Reduce();
  absl::Status Gather(bool anew);
  // Every rank's `mine` in a row; ranks have `counts`.
  absl::StatusOr<List> GatherLists(const List& mine, std::span<const int64_t> counts);
  // Sends a range of `from` to each rank and receives as many as `counts` from each; its own range
  // is in its own place.
  absl::StatusOr<std::vector<List>> Exchange(const List& from, std::span<const Range> ranges,
                                             std::span<const int64_t> counts);
  // Places of `list` ascend inside [begin, end).
  absl::Status CheckPlaces(const List& list, int64_t begin, int64_t end) const;

  Communicator* communicator_;
  TopKOptions options_;
  int64_t elements_, k_;
  // 0: not known.
  uint32_t local_threshold_ = 0, global_threshold_ = 0;
  std::vector<int64_t> regions_;  // where they begin, and the end; empty: not cut yet
  List selected_, reduced_, result_;
  Volume volume_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_TOP_K_ALL_REDUCE_H_
