// How evenly the ranks of a run shared its work.

#ifndef DTNN_APPS_RANK_REPORT_H_
#define DTNN_APPS_RANK_REPORT_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "comm/communicator.h"

namespace dtnn {

// "Exposed communication: 1.4% of the training time on average (0.9% on rank 1, the slowest; 1.9%
// on rank 0, the fastest)\n". `waited`: by rank, the seconds out of `seconds` in which it could do
// nothing but wait for the exchange of gradients. Who waits least computes slowest: the others wait
// for it.
std::string FormatExposure(std::span<const double> waited, double seconds);

// Of all ranks, which call it together, each with its own seconds; for rank 0 to print.
absl::StatusOr<std::string> DescribeExposure(Communicator& communicator, double waited,
                                             double seconds);

}  // namespace dtnn

#endif  // DTNN_APPS_RANK_REPORT_H_
