// The options that all programs with rounds have: how updates become the next parameters, and the
// files.

#ifndef DTNN_APPS_ROUNDS_ROUND_FLAGS_H_
#define DTNN_APPS_ROUNDS_ROUND_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"
#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/compression.h"
#include "models/checkpoint/run_identity.h"

namespace dtnn {

struct RoundFlags {
  static constexpr int64_t kNotGiven = -1;  // the program says what follows

  int64_t rounds = 10;
  std::string strategy = "wavg";
  std::string select = {};  // federation::Criterion
  double proximal_mu = 0.01;
  double server_learning_rate = 0;  // 0: the strategy's own
  double server_momentum = 0.9;
  int64_t buffer_size = 0;  // updates after which the parameters move; 0: rounds wait
  std::string staleness_weight = "root";
  int64_t max_staleness = 20;        // rounds
  double max_update_norm = 0;        // 0: any
  std::string compression = "none";  // federation::ParseCompression
  std::string robust = {};           // federation::ParseRobust
  std::string clients_file;          // what each client did in each round; empty: none
  int64_t test_every = kNotGiven;    // rounds; 0: never

  // Also after the first and the last one: files take their columns from the first.
  bool TestsAfter(int64_t round) const {
    return test_every > 0 && (round % test_every == 0 || round == 1 || round == rounds);
  }
};

std::vector<OptionSpec> OptionsOfStrategy(RoundFlags& flags);
// What a sum hides, and noise.
std::vector<OptionSpec> OptionsOfPrivacy(Options& run);
std::vector<OptionSpec> OptionsOfRoundFiles(RoundFlags& flags, Options& run);
// --test-every.
OptionSpec OptionOfTests(RoundFlags& flags, std::string_view by_default);
// How the samples of tests are read and shown.
std::vector<OptionSpec> OptionsOfTestSamples(Options& run);

// The updates of a round.
struct RoundSizes {
  int64_t least = 1, expected = 1, most = 1;
};
// Where rounds do not wait.
inline RoundSizes SizesOfBuffer(const RoundFlags& flags) {
  return {.least = flags.buffer_size, .expected = flags.buffer_size, .most = flags.buffer_size};
}

// Usage errors for options of these that contradict each other. `parent`: of an aggregator that is
// the client of another one, its place; empty: none.
absl::Status CheckRoundFlags(const RoundFlags& flags, const Options& run, const RoundSizes& sizes,
                             std::string_view parent = "");

// For usage errors of too many masked updates in a round: what allows more, or nothing.
std::string HintOfNeighbours(const Options& run);

// What these make a federation that resumes be compared by: each may change, with a warning.
std::vector<IdentityMember> MembersOf(const RoundFlags& flags);

// What is unexpected of options that are not refused.
std::vector<std::string> WarningsOf(const RoundFlags& flags, const RoundSizes& sizes);

federation::StrategyOptions StrategyOf(const RoundFlags& flags);
federation::BufferOptions BufferOf(const RoundFlags& flags);
federation::Compression CompressionOf(const RoundFlags& flags);

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_FLAGS_H_
