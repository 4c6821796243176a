// Which samples of the training split are held out for validation (`--validation-split`).
//
// The subset is random (data sets are often sorted), fixed for a seed (the same in every epoch, on
// every rank and after a restart) and disjoint from what remains for training. Where the classes
// are known it is stratified: a rare class is validated too, and does not lose its training samples
// to chance.

#ifndef DTNN_DATA_LOADING_SPLIT_H_
#define DTNN_DATA_LOADING_SPLIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Both ascending, so that unshuffled reading goes forward through a file.
struct TrainValidation {
  std::vector<int64_t> train, validation;
};

// Divides 0 .. n-1: validation gets floor(n * fraction) samples, where a product that only rounding
// keeps below an integer counts as that integer (100 * 0.29 is 29). InvalidArgument unless
// 0 <= fraction < 1 and 0 <= n <= 2^32. Where samples come in groups that are cheap to read
// together (`groups`: the first sample of each, ascending from 0; see dataset.h), validation gets
// whole groups, in random order, and of the last one the first samples. With `labels`, the class of
// each of the n samples, validation gets the same fraction of every class, rounded so that the sum
// is as above (largest remainders first); not together with groups. Cost: n steps.
absl::StatusOr<TrainValidation> SplitIndices(int64_t n, double fraction, uint64_t seed,
                                             std::span<const int64_t> groups = {},
                                             std::span<const int32_t> labels = {});

// The samples of a list that are used (`--dataset-percentage`): floor(n * fraction) of them, with
// the same rounding. Below 1 they are a random subset, fixed for a seed; above, the whole list
// comes again and again, and at last such a subset. Each copy is in the order of the list. 0: the
// list as it is. With groups the list must ascend and the subset is of whole groups, as above.
// InvalidArgument for a fraction below 0, one that leaves nothing of a list, and more than 2^32
// samples.
absl::StatusOr<std::vector<int64_t>> TakeFraction(const std::vector<int64_t>& indices,
                                                  double fraction, uint64_t seed,
                                                  std::span<const int64_t> groups = {});

// 0 .. n-1: a whole part.
std::vector<int64_t> AllIndices(int64_t n);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_SPLIT_H_
