// What is known of a federation while it runs, as text for Prometheus and as JSON.
//
// As values of labels there are only names of metrics, which clients choose, kMostMetrics of them;
// clients, of whom there may be many thousands, are in the JSON, the first kMostClients.

#ifndef DTNN_APPS_AGGREGATOR_FEDERATION_FACTS_H_
#define DTNN_APPS_AGGREGATOR_FEDERATION_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/monitor/histogram.h"
#include "comm/federation/aggregator/round_record.h"

namespace dtnn {

struct FederationFacts {
  static constexpr size_t kMostMetrics = 64, kMostClients = 500, kMostRounds = 1000;
  static constexpr double kStepSeconds[] = {0.01, 0.1, 1, 5, 10, 30, 60, 300, 900, 3600};

  // What the aggregator does.
  enum class State : uint8_t { kWaits, kRound, kSaves, kOver };

  struct Client {
    bool there = false;
    bool asked = false;  // in the attempt that runs, or ran last
    int64_t samples = 0;
    int64_t accepted = 0, left_out = 0, late = 0;  // updates
    std::string why = {};                          // it was left out, the last time
  };
  struct Round {
    int64_t round = 0, asked = 0, accepted = 0;
    uint64_t attempts = 0, bytes_sent = 0, bytes_received = 0;
    double seconds = 0;
    federation::Metrics metrics = {};
    std::optional<federation::RoundRecord::Epsilons> epsilons = {};
    std::optional<federation::RoundRecord::Clipping> clipping = {};
  };

  std::string network = {};
  State state = State::kWaits;
  int64_t rounds_done = 0, rounds = 0;
  double seconds_since_turn = 0;

  int64_t there = 0;                                        // clients, now
  int64_t asked = 0, accepted = 0, left_out = 0, late = 0;  // updates, so far
  int64_t refusals = 0, revocations = 0, good_attempts = 0, failed_attempts = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  Histogram set_up{kStepSeconds}, updates{kStepSeconds}, finish{kStepSeconds}, save{kStepSeconds};
  std::shared_ptr<const Round> last_round = {};  // null: there was none yet
};

// What is listed, too.
struct FederationLists {
  // Privacy counts on it that nobody knows which clients a round draws: nothing is listed by which
  // that could be seen.
  bool hides_drawn = false;
  std::vector<std::pair<std::string, FederationFacts::Client>> clients = {};
  std::vector<std::shared_ptr<const FederationFacts::Round>> rounds = {};
};

std::string MetricsOf(const FederationFacts& facts);
std::string StatusOf(const FederationFacts& facts, const FederationLists& lists);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_FEDERATION_FACTS_H_
