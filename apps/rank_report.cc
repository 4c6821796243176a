#include "apps/rank_report.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {

std::string FormatExposure(std::span<const double> waited, double seconds) {
  const auto percent = [seconds](double wait) { return seconds > 0 ? 100 * wait / seconds : 0; };
  const auto [least, most] = std::minmax_element(waited.begin(), waited.end());
  const double mean = std::accumulate(waited.begin(), waited.end(), 0.0) / double(waited.size());
  return absl::StrFormat(
      "Exposed communication: %.1f%% of the training time on average (%.1f%% on rank %d, the "
      "slowest; %.1f%% on rank %d, the fastest)\n",
      percent(mean), percent(*least), least - waited.begin(), percent(*most),
      most - waited.begin());
}

absl::StatusOr<std::string> DescribeExposure(Communicator& communicator, double waited,
                                             double seconds) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all, GatherValues(communicator, waited));
  return FormatExposure(all, seconds);
}

}  // namespace dtnn
