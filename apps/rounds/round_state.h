// The state of a federation on the disk (--checkpoint-dir): a checkpoint after each round, with the
// parameters, the moments of the strategy and the counts; so `inspect` shows it, and its weights
// can be loaded like any others. Where only clients can read sums, the newest encrypted one is in a
// file of its own, encrypted-state.npz, and the checkpoints hold the parameters that the run began
// with.
//
// With differential privacy the account of what was published about clients is in
// privacy-ledger.npz, which is written before each attempt at a round too: a killed attempt counts.
// It is never older than the rest.

#ifndef DTNN_APPS_ROUNDS_ROUND_STATE_H_
#define DTNN_APPS_ROUNDS_ROUND_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/federation_state.h"
#include "kernels/device/context.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/checkpoint/run_identity.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/exchanged_parameters.h"

namespace dtnn {

// What a run that is resumed is compared by.
struct RoundSettings {
  std::string strategy, protection;  // in words; these must stay the same
  bool is_private = false;           // with differential privacy
  RunIdentity identity = {};         // of these each change is a warning, or refused
};

// Whether a federation continues: no, yes, or if there is one.
enum class Resumption : uint8_t { kNo, kMust, kIfThere };

class RoundState {
 public:
  // An empty folder: nothing is written. `exchanged`: the numbers of the network that states have.
  // The others outlive it.
  RoundState(const std::string& folder, RoundSettings settings, const Graph& graph,
             const ExchangedParameters& exchanged, ParameterStore& store, DeviceContext& context,
             uint64_t seed)
      : folder_name_(folder),
        settings_(std::move(settings)),
        folder_(folder),
        graph_(graph),
        exchanged_(exchanged),
        store_(store),
        context_(context),
        seed_(seed) {}

  // Locks the folder; where the federation continues, the state that it holds: FailedPrecondition
  // for settings that must not change, and for none where there must be one. Warnings about files
  // and other changes go to `warnings`.
  absl::StatusOr<federation::FederationState> Begin(Resumption resumption,
                                                    std::vector<std::string>& warnings);
  // All of it or nothing. The store gets the parameters where they can be read.
  absl::Status Save(const federation::FederationState& state);
  // The ledger alone, before an attempt at a round (AggregatorOptions::charged).
  absl::Status SaveLedger(const federation::FederationState& state) const;

 private:
  std::string EncryptedPath() const { return folder_name_ + "/encrypted-state.npz"; }
  std::string LedgerPath() const { return folder_name_ + "/privacy-ledger.npz"; }
  absl::StatusOr<federation::FederationState> LoadCheckpoint(Resumption resumption,
                                                             std::vector<std::string>& warnings);
  absl::Status LoadLedger(federation::FederationState& state) const;
  absl::Status SaveEncrypted(const federation::FederationState& state) const;
  absl::StatusOr<federation::FederationState> LoadEncrypted(
      std::vector<std::string>& warnings) const;

  const std::string folder_name_;
  const RoundSettings settings_;
  CheckpointFolder folder_;
  const Graph& graph_;
  const ExchangedParameters exchanged_;
  ParameterStore& store_;
  DeviceContext& context_;
  const uint64_t seed_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_ROUNDS_ROUND_STATE_H_
