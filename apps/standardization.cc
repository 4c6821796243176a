#include "apps/standardization.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<ChannelStatistics> StatisticsOfJob(
    Communicator* communicator, bool own_data, int64_t channels,
    absl::FunctionRef<absl::StatusOr<ChannelStatistics>()> compute) {
  if (communicator == nullptr) return compute();
  const size_t each = size_t(channels);
  absl::StatusOr<ChannelStatistics> mine = ChannelStatistics();
  if (own_data || communicator->rank() == 0) mine = compute();
  // How many values, their means, their deviations; zeros of who has nothing to tell.
  std::vector<double> numbers(1 + 2 * each);
  if (mine.ok() && mine->count > 0) {
    numbers[0] = mine->count;
    std::ranges::copy(mine->mean, numbers.begin() + 1);
    std::ranges::copy(mine->deviation, numbers.begin() + 1 + ptrdiff_t(each));
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all,
                        GatherValues<double>(*communicator, numbers));
  if (!mine.ok()) return mine;
  std::vector<ChannelStatistics> parts;
  for (size_t at = 0; at < all.size(); at += numbers.size()) {
    const double* mean = all.data() + at + 1;
    if (all[at] == 0) continue;
    parts.push_back({.mean = {mean, mean + each},
                     .deviation = {mean + each, mean + 2 * each},
                     .count = all[at]});
  }
  if (parts.size() == 1) return parts[0];
  return parts.empty() ? ChannelStatistics{std::vector<double>(each), std::vector<double>(each), 0}
                       : Merge(parts);
}

std::string Describe(const ChannelStatistics& statistics) {
  const auto joined = [](const std::vector<double>& values) {
    return absl::StrJoin(values, "/", [](std::string* text, double value) {
      absl::StrAppendFormat(text, "%.6g", value);
    });
  };
  return absl::StrFormat("mean %s, deviation %s", joined(statistics.mean),
                         joined(statistics.deviation));
}

}  // namespace dtnn
