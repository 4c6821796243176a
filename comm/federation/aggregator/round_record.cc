#include "comm/federation/aggregator/round_record.h"

#include <map>
#include <string>
#include <utility>

namespace dtnn::federation {

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
