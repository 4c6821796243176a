#include "models/run/samples/standardization.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {

namespace {

constexpr size_t kNumbers = 3;  // of which Moments are

// Those of all ranks, in their order. Ranks may have different numbers
// of them.
absl::StatusOr<std::vector<Moments>> Gather(Communicator& communicator,
                                            std::span<const Moments> mine) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                        GatherValues(communicator, int64_t(mine.size())));
  const size_t most = size_t(std::max<int64_t>(1, std::ranges::max(counts)));
  std::vector<double> numbers(kNumbers * most);
  for (size_t i = 0; i < mine.size(); ++i) {
    double* to = &numbers[kNumbers * i];
    to[0] = mine[i].count;
    to[1] = mine[i].mean;
    to[2] = mine[i].squares;
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> all, GatherValues<double>(communicator, numbers));
  std::vector<Moments> moments;
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    const double* from = &all[rank * numbers.size()];
    for (int64_t i = 0; i < counts[rank]; ++i, from += kNumbers) {
      moments.push_back({.count = from[0], .mean = from[1], .squares = from[2]});
    }
  }
  return moments;
}

}  // namespace

absl::StatusOr<ChannelStatistics> StatisticsOfJob(
    Communicator* communicator, bool own_data, int64_t channels,
    absl::FunctionRef<absl::StatusOr<std::vector<Moments>>(const Share&)> compute) {
  Share share;
  if (communicator != nullptr && !own_data) share = {communicator->rank(), communicator->size()};
  absl::StatusOr<std::vector<Moments>> moments = compute(share);
  if (communicator != nullptr) {
    const absl::Status status = moments.status();
    DTNN_ASSIGN_OR_RETURN(moments, Gather(*communicator, moments.value_or(std::vector<Moments>())));
    DTNN_RETURN_IF_ERROR(status);
  }
  DTNN_RETURN_IF_ERROR(moments.status());
  return StatisticsOf(*moments, channels);
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
