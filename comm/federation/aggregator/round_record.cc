#include "comm/federation/aggregator/round_record.h"

#include <map>
#include <string>
#include <utility>

namespace dtnn::federation {

RoundRecord RecordOfRound(const FederationState& state, const PrivacyOptions& privacy,
                          std::vector<Asked> clients) {
  RoundRecord record = {.round = state.rounds_done, .clients = std::move(clients)};
  if (privacy.on()) {
    record.epsilons = {.model = state.privacy.model().Epsilon(privacy.delta),
                       .aggregator = state.privacy.aggregator().Epsilon(privacy.delta)};
  }
  SumReports(record);
  return record;
}

std::optional<RoundRecord::Clipping> FollowClip(const PrivacyOptions& privacy, double clip,
                                                std::optional<double> below,
                                                FederationState& state) {
  if (!below) return std::nullopt;
  state.clip = NextClip(privacy, clip, *below);
  return RoundRecord::Clipping{.clip = clip, .below = *below};
}

RoundRecord::Buffer BufferRecordOf(std::span<const Asked> clients, int64_t too_stale) {
  double sum = 0;
  int64_t accepted = 0;
  for (const Asked& client : clients) {
    if (client.state != Asked::State::kAccepted) continue;
    sum += double(client.staleness);
    ++accepted;
  }
  return {.staleness = accepted > 0 ? sum / double(accepted) : 0, .too_stale = too_stale};
}

void SumReports(RoundRecord& record) {
  std::map<std::string, std::pair<double, int>> sums;
  int accepted = 0;
  for (const Asked& asked : record.clients) {
    if (asked.state != Asked::State::kAccepted) continue;
    ++accepted;
    record.samples += asked.report.samples;
    for (const auto& [name, value] : asked.report.metrics) {
      sums[name].first += value * double(asked.report.samples);
      ++sums[name].second;
    }
  }
  for (const Asked& asked : record.clients) {  // in the order in which clients name them
    if (asked.state != Asked::State::kAccepted) continue;
    for (const auto& [name, value] : asked.report.metrics) {
      const auto sum = sums.find(name);
      if (sum == sums.end() || sum->second.second != accepted) continue;
      record.metrics.emplace_back(name, sum->second.first / double(record.samples));
      sums.erase(sum);
    }
  }
}

}  // namespace dtnn::federation
