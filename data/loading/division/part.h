// A part of a data set that is divided among several that do not share it (`--dataset-part`): the
// clients of a federation, on one machine or in an experiment.

#ifndef DTNN_DATA_LOADING_DIVISION_PART_H_
#define DTNN_DATA_LOADING_DIVISION_PART_H_

#include <cstdint>
#include <vector>

namespace dtnn {

// The part-th, from 1, of `parts` parts of 0 .. n-1, ascending. Parts are random, so that each has
// samples of the whole range, disjoint, and together everything; their sizes differ by at most one.
// A function of the arguments alone. 1 <= part <= parts, 0 <= n <= 2^32.
std::vector<int64_t> PartOfSamples(int64_t n, int64_t part, int64_t parts);

// All of them.
std::vector<std::vector<int64_t>> PartsOfSamples(int64_t n, int64_t parts);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_DIVISION_PART_H_
