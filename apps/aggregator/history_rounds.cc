#include "apps/aggregator/history_rounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "comm/federation/aggregator/round_record.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

using federation::RoundRecord;

// Counts as the file has them; 0 for others.
int64_t Count(double number) { return number >= 0 && number < 0x1p53 ? int64_t(number) : 0; }

void Set(std::string_view column, double number, FederationFacts::Round& round) {
  const auto epsilons = [&]() -> RoundRecord::Epsilons& {
    if (!round.epsilons) round.epsilons.emplace();
    return *round.epsilons;
  };
  const auto clipping = [&]() -> RoundRecord::Clipping& {
    if (!round.clipping) round.clipping.emplace();
    return *round.clipping;
  };
  if (column == "clients") {
    round.asked = round.accepted = Count(number);
  } else if (column == "attempts") {
    round.attempts = uint64_t(Count(number));
  } else if (column == "seconds") {
    round.seconds = number;
  } else if (column == "bytes_sent") {
    round.bytes_sent = uint64_t(Count(number));
  } else if (column == "bytes_received") {
    round.bytes_received = uint64_t(Count(number));
  } else if (column == "epsilon") {
    epsilons().model = number;
  } else if (column == "epsilon_aggregator") {
    epsilons().aggregator = number;
  } else if (column == "clip") {
    clipping().clip = number;
  } else if (column == "below_clip") {
    clipping().below = number;
  } else if (column != "samples" && column != "staleness" && column != "too_stale" &&
             round.metrics.size() < FederationFacts::kMostMetrics) {
    round.metrics.emplace_back(column, number);
  }
}

}  // namespace

std::vector<FederationFacts::Round> RoundsOfHistory(std::string_view csv) {
  std::vector<FederationFacts::Round> rounds;
  const std::vector<std::string> lines = absl::StrSplit(std::string(csv), '\n', absl::SkipEmpty());
  if (lines.empty()) return rounds;
  const std::vector<std::string> columns = absl::StrSplit(lines[0], ',');
  for (size_t line = 1; line < lines.size(); ++line) {
    const std::vector<std::string> fields = absl::StrSplit(lines[line], ',');
    const std::optional<int64_t> number = NumberIn<int64_t>(fields[0]);
    if (!number || *number < 1) continue;
    FederationFacts::Round round = {.round = *number};
    for (size_t i = 1; i < std::min(fields.size(), columns.size()); ++i) {
      const std::optional<double> value = NumberIn<double>(fields[i]);
      if (value && std::isfinite(*value)) Set(columns[i], *value, round);
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace dtnn
