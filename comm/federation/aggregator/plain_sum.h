// The sum of plain updates, and which of them may be added.
//
// In double precision, and in the order of positions whichever came first: so the mean has the same
// bits wherever and whenever clients train.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_PLAIN_SUM_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_PLAIN_SUM_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace dtnn::federation {

class PlainSum {
 public:
  explicit PlainSum(size_t values) : total_(values) {}

  // An update, times its client's factor: of as many numbers.
  void Add(std::span<const float> values);
  // `divisor`: the sum of these factors.
  std::vector<float> Mean(double divisor) const;

 private:
  std::vector<double> total_;
};

// OutOfRange for an update, times `factor`, with numbers that no network has, and for one that is
// farther than `max_norm` from `begin`, the parameters that it was trained from; 0, or none of
// these: however far.
absl::Status CheckUpdate(std::span<const float> values, double factor, std::span<const float> begin,
                         double max_norm);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_PLAIN_SUM_H_
