// RunOptions to what an aggregator and its clients must have alike, and to how they meet.

#ifndef DTNN_MODELS_RUN_FEDERATED_FEDERATION_OPTIONS_H_
#define DTNN_MODELS_RUN_FEDERATED_FEDERATION_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/client/call.h"
#include "comm/federation/labels.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/launch_place.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/crypto/wiped.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/run/federated/exchanged_parameters.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// encryption.kind and what belongs to it.
federation::ProtectionOptions ProtectionOf(const RunOptions& options);
// A usage error for parameters that are refused names the options.
absl::Status CheckProtection(const RunOptions& options, const federation::ModelFacts& model);

// A usage error for federation.local_parameters that are refused names the option.
absl::StatusOr<ExchangedParameters> FindExchanged(const RunOptions& options, const Graph& graph,
                                                  const ParameterStore& store);
absl::StatusOr<federation::ModelFacts> ModelFactsOf(const Graph& graph, const ParameterStore& store,
                                                    const ExchangedParameters& exchanged);

// How both meet: at HOST:PORT, with the job's secret and, beyond this host, with certificates, as
// the environment says (comm/ranks/job/job_environment.h).
struct Meeting {
  federation::MeetingPlace place;
  JobSecret secret;
  std::string warning;  // empty: none
};
inline constexpr char kAggregatorName[] = "the aggregator";
// `text`: of the option `flag`; `transport`: of ranks.transport; `self`: what messages call this
// process. Usage errors, but for files that cannot be used. To be called once, before other
// threads: it takes the secret from the environment, unless `get` answers in its place.
absl::StatusOr<Meeting> FindMeeting(std::string_view text, std::string_view flag,
                                    TransportChoice transport, std::string_view self,
                                    const GetVariable& get = nullptr);

// What a client brings besides its data, which are read later: all that options, files and
// environment can have wrong.
struct ClientPlace {
  Meeting meeting;  // at federation.server
  // By federation.client_name, or the host's name and data.part; federation.identity_key_file,
  // which holds a key; federation.aggregator_key.
  federation::ClientIdentity identity;
  federation::Labels labels = {};  // federation.client_labels
  std::optional<Secret> key = {};  // of encryption.key_file
};
// As FindMeeting. `flag`: the option of federation.server, where it has another name.
absl::StatusOr<ClientPlace> FindClientPlace(const RunOptions& options,
                                            std::string_view flag = "RunOptions::federation.server",
                                            const GetVariable& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_FEDERATION_OPTIONS_H_
