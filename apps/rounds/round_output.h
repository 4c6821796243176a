// All that a program writes about the rounds of a federation: lines, --history-file,
// --clients-file, --report, the state in --checkpoint-dir, and the weights after the last round.
// Each round is on the disk before the next one begins.

#ifndef DTNN_APPS_ROUNDS_ROUND_OUTPUT_H_
#define DTNN_APPS_ROUNDS_ROUND_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "apps/rounds/round_files.h"
#include "apps/rounds/round_page.h"
#include "apps/rounds/round_state.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/round_record.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/observe/report/run_report.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/exchanged_parameters.h"

namespace dtnn {

// All outlive it.
struct RoundOutputParts {
  const Options& run;  // the files
  std::string clients_file;
  int64_t rounds = 0;  // 0: a parent says how many
  RoundSettings settings;
  ReportFacts facts;
  BetterOfMetrics better;
  const Graph& graph;
  const ExchangedParameters& exchanged;
  ParameterStore& store;  // gets the parameters of each round
  DeviceContext& context;
  std::ostream& out;
  std::function<void(std::string_view line)> warn;
  std::string loss = {};  // the name of the metric that is one; empty: not known
};

class RoundOutput {
 public:
  explicit RoundOutput(RoundOutputParts parts);

  // The state to begin with: where the federation continues, that after its last round. Checks
  // that all files can be written.
  absl::StatusOr<federation::FederationState> Begin();
  // Before an attempt at a round, with differential privacy.
  absl::Status Charged(const federation::FederationState& state) {
    return state_.SaveLedger(state);
  }
  // After each round. `test`, which may take long, adds to the record once the state is saved, with
  // the parameters in the store.
  absl::Status RoundDone(federation::RoundRecord record, const federation::FederationState& state,
                         const std::function<void(federation::RoundRecord&)>& test = {});
  // The rounds so far, as --history-file has them; after Begin().
  const std::string& history() const { return files_->history(); }
  // What the program ends with, where the rounds have ended with `status`; Cancelled: by a signal.
  absl::Status Finish(const absl::Status& status, const federation::FederationState& state);

 private:
  absl::Status SaveLast(const federation::FederationState& state);

  const RoundOutputParts parts_;
  RoundState state_;
  std::optional<RoundFiles> files_;
  RoundPage page_;
  bool none_to_do_ = false;
};

// Which of the values of these metrics, and of those after "val_", are better.
BetterOfMetrics BetterOf(const MetricSet& metrics);

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_OUTPUT_H_
