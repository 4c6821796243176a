#include "apps/simulate/simulation_identity.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "apps/rounds/round_flags.h"
#include "apps/simulate/client_labels.h"
#include "comm/federation/labels.h"
#include "comm/secrets/crypto/hash.h"
#include "data/loading/fingerprint.h"
#include "models/run/options/option_value.h"
#include "models/run/options/run_options.h"
#include "models/run/parts/run_identity.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

namespace {

// The start of a hash of all of them.
absl::StatusOr<std::string> NameOfLabels(const SimulateFlags& flags) {
  if (flags.client_labels_file.empty()) return "none";
  DTNN_ASSIGN_OR_RETURN(const std::vector<federation::Labels> labels,
                        ReadClientLabels(flags.client_labels_file, flags.clients));
  std::string text;
  for (const federation::Labels& of_client : labels)
    StrAppend(&text, federation::TextOf(of_client), "\n");
  DTNN_ASSIGN_OR_RETURN(const Hash hash, Sha256({AsBytes(text)}));
  return absl::BytesToHexString({reinterpret_cast<const char*>(hash.data()), 8});
}

}  // namespace

absl::StatusOr<RunIdentity> IdentityOf(const SimulateFlags& flags, const PreparedRun& run) {
  if (flags.run.checkpoint.folder.empty()) return RunIdentity();  // nobody compares it
  const RunOptions& options = run.options;
  DTNN_ASSIGN_OR_RETURN(const DataFingerprint data, Fingerprint(*run.dataset, Split::kTrain));
  RunIdentity identity = MakeRunIdentity(options, *run.optimizer, *run.dataset, data, run.loaders);
  const auto add = [&](std::string what, const auto& value) {
    identity.members.push_back({.what = std::move(what), .value = FormatValue(ToValue(value))});
  };
  // A run keeps its optimizer, and continues with the rate that it has reached; clients begin
  // anew in each round.
  add("RunOptions::optimizer.name", options.optimizer.name);
  add("first learning rate of a client", InitialLearningRate(options, 1));
  add("RunOptions::training.epochs", options.training.epochs);
  const std::vector<IdentityMember> of_rounds = MembersOf(flags.rounds);
  identity.members.insert(identity.members.end(), of_rounds.begin(), of_rounds.end());
  add("--min-clients", flags.min_clients);
  add("--client-seconds", flags.client_seconds);
  DTNN_ASSIGN_OR_RETURN(const std::string labels, NameOfLabels(flags));
  add("labels of clients", labels);
  add("--drop-out", flags.drop_out);
  add("--liars", flags.liars);
  add("--lie", flags.lie);
  return identity;
}

}  // namespace dtnn
