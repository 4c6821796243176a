#include "comm/ranks/job/rank_report.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {

std::string FormatExposure(std::span<const double> shares) {
  if (shares.size() == 1) {
    return absl::StrFormat("Exposed communication: %.1f%% of the training time\n", 100 * shares[0]);
  }
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / double(shares.size());
  return absl::StrFormat(
      "Exposed communication: %.1f%% of the training time on average (%.1f%% on rank %d, the "
      "slowest; %.1f%% on rank %d, the fastest)\n",
      100 * mean, 100 * *least, least - shares.begin(), 100 * *most, most - shares.begin());
}

absl::StatusOr<std::string> DescribeExposure(Communicator& communicator, double waited,
                                             double seconds) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> shares,
                        GatherValues(communicator, seconds > 0 ? waited / seconds : 0));
  return FormatExposure(shares);
}

}  // namespace dtnn
