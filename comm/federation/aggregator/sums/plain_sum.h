// The sum of plain updates, and which of them may be added.
//
// Exact, so that its bits depend neither on the order in which updates come nor on threads: each
// number is rounded to a multiple of 2^-45 and added as an integer. Numbers from 2^-22 on lose
// nothing of float32 by that; smaller ones are off by at most 2^-46 (1.4e-14) each.
// A mean divides the sum of these errors by all weights: CheckPlainWeightLeft (../factors.h) bounds
// it by 2^-26 (1.5e-8).
//
// A number has 8 bytes, whatever is added. Blocks of numbers in which one is 16 or more get 8 bytes
// more each: integers of 64 bits for the multiples of 16, which are kept apart from the rest.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_PLAIN_SUM_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_PLAIN_SUM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace dtnn::federation {

class PlainSum {
 public:
  explicit PlainSum(size_t values);

  // An update, times its client's factor: of as many numbers, which CheckUpdate accepts. On all
  // threads (tensor/threads/parallel_for.h).
  void Add(std::span<const float> values);
  // `divisor`: the sum of these factors.
  std::vector<float> Mean(double divisor) const;

 private:
  size_t BlockSize(size_t block) const;
  void AddLarge(size_t block, std::span<const float> values);
  void Carry();

  std::vector<int64_t> fine_;                 // in units of 2^-45
  std::vector<std::vector<int64_t>> coarse_;  // by block, in units of 16; empty: zeros
  int adds_ = 0;                              // since the last Carry
};

// OutOfRange for an update, times `factor`, with numbers that no network has, and for one whose
// first numbers are farther than `max_norm` from `begin`, the parameters that it was trained from;
// 0, or none of these: however far.
absl::Status CheckUpdate(std::span<const float> values, double factor, std::span<const float> begin,
                         double max_norm);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_SUMS_PLAIN_SUM_H_
