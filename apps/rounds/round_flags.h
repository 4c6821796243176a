// The options that all programs with rounds have: how updates become the next parameters, and the
// files.

#ifndef DTNN_APPS_ROUNDS_ROUND_FLAGS_H_
#define DTNN_APPS_ROUNDS_ROUND_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"
#include "comm/federation/aggregator/strategy.h"

namespace dtnn {

struct RoundFlags {
  int64_t rounds = 10;
  std::string strategy = "wavg";
  double proximal_mu = 0.01;
  double server_learning_rate = 0;  // 0: the strategy's own
  double server_momentum = 0.9;
  double max_update_norm = 0;  // 0: any
  std::string robust = {};     // federation::ParseRobust
  std::string clients_file;    // what each client did in each round; empty: none
};

std::vector<OptionSpec> OptionsOfStrategy(RoundFlags& flags);
// What a sum hides, and noise.
std::vector<OptionSpec> OptionsOfPrivacy(Options& run);
std::vector<OptionSpec> OptionsOfRoundFiles(RoundFlags& flags, Options& run);

// Usage errors for options of these that contradict each other.
absl::Status CheckRoundFlags(const RoundFlags& flags, const Options& run, int64_t min_clients);

federation::StrategyOptions StrategyOf(const RoundFlags& flags);

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_FLAGS_H_
