// Reports how evenly work was divided among the ranks.

#ifndef DTNN_COMM_RANKS_JOB_RANK_REPORT_H_
#define DTNN_COMM_RANKS_JOB_RANK_REPORT_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "comm/communicator.h"

namespace dtnn {

// "Exposed communication: 1.4% of the training time on average (0.9% on rank 1, the slowest; 1.9%
// on rank 0, the fastest)\n". `shares`: by rank, the part of its training passes, 0 to 1, in which
// it could do nothing but wait for others. The rank that waits least computes slowest: the others
// wait for it. With one rank only its share is printed.
std::string FormatExposure(std::span<const double> shares);

// For all ranks, which call it together, each with the seconds that it waited, and the seconds
// of its training passes. For rank 0 to print.
absl::StatusOr<std::string> DescribeExposure(Communicator& communicator, double waited,
                                             double seconds);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_RANK_REPORT_H_
