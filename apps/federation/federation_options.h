// Options to what an aggregator and its clients must have alike, and to how they meet.

#ifndef DTNN_APPS_FEDERATION_FEDERATION_OPTIONS_H_
#define DTNN_APPS_FEDERATION_FEDERATION_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "comm/crypto/job_secret.h"
#include "comm/crypto/wiped.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"

namespace dtnn {

// --encryption and what belongs to it.
federation::ProtectionOptions ProtectionOf(const Options& options);
// A usage error for parameters that are refused names the options.
absl::Status CheckProtection(const Options& options, const federation::ModelFacts& model);

// What of the network is exchanged: all that training changes.
absl::StatusOr<federation::ModelFacts> ModelFactsOf(const Graph& graph,
                                                    const ParameterStore& store);

// Of --encryption-key-file; nothing without --encryption=tenseal.
absl::StatusOr<std::optional<Secret>> ReadClientKey(const Options& options);

// --client-name, or one made of the host's name and --dataset-part.
absl::StatusOr<std::string> ClientNameOf(const Options& options);

// How both meet: at HOST:PORT, with the job's secret and, beyond this host, with certificates, as
// the environment says (comm/tcp/job_environment.h).
struct Meeting {
  federation::MeetingPlace place;
  JobSecret secret;
  std::string warning;  // empty: none
};
// `text`: of the option `flag`; `transport`: of --transport. Usage errors. To be called once,
// before other threads.
absl::StatusOr<Meeting> FindMeeting(std::string_view text, std::string_view flag,
                                    std::string_view transport);

}  // namespace dtnn

#endif  // DTNN_APPS_FEDERATION_FEDERATION_OPTIONS_H_
