#include "comm/transport/meeting/waiting_room.h"

#include <algorithm>
#include <map>
#include <vector>

namespace dtnn {

size_t CallerToDrop(std::span<const WaitingCaller> callers,
                    std::chrono::steady_clock::time_point now, uint64_t random) {
  const size_t newcomer = callers.size() - 1;
  std::map<std::string_view, size_t> places;
  size_t most = 0;
  for (const WaitingCaller& caller : callers) most = std::max(most, ++places[caller.host]);
  std::chrono::milliseconds silence(0);
  if (places[callers[newcomer].host] == most) {
    silence = std::chrono::milliseconds(1 + random % uint64_t(kSilence.count()));
  }
  std::vector<size_t> silent;
  for (size_t i = 0; i < newcomer; ++i) {
    const bool here = places[callers[i].host] == most;
    if (here && now - callers[i].heard >= silence) silent.push_back(i);
  }
  return silent.empty() ? newcomer : silent[random / uint64_t(kSilence.count()) % silent.size()];
}

}  // namespace dtnn
