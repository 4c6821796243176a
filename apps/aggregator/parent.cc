#include "apps/aggregator/parent.h"

#include <cstdlib>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "models/run/federated/federation_options.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::optional<federation::ParentOptions>> FindParent(
    const AggregatorFlags& flags, const std::function<void(std::string_view)>& warn) {
  if (flags.parent.empty()) return std::nullopt;
  if (flags.parent == flags.address && flags.parent_secret_file.empty()) {
    return UsageError("--parent=", flags.parent,
                      ": is where this aggregator meets its own clients (--address); over mqtt, "
                      "two federations at one broker need different secrets "
                      "(--parent-secret-file)");
  }
  Options client = flags.run;  // without what is between this aggregator and its own clients
  client.encryption = {};
  client.federation.server = flags.parent;
  client.federation.identity_key_file = flags.identity_key_file;
  DTNN_ASSIGN_OR_RETURN(
      ClientPlace place,
      FindClientPlace(client, "--parent", [](const char* name) { return std::getenv(name); }));
  if (!place.meeting.warning.empty()) warn(place.meeting.warning);
  if (!flags.parent_secret_file.empty()) {
    DTNN_ASSIGN_OR_RETURN(
        place.meeting.secret,
        WithContext(ReadSecretFile(flags.parent_secret_file), "--parent-secret-file"));
  }
  federation::ClientOptions options;
  options.place = std::move(place.meeting.place);
  options.name = std::move(place.identity.name);
  options.labels = std::move(place.labels);
  options.identity_key_file = std::move(place.identity.key_file);
  options.aggregator_key = place.identity.aggregator;
  options.seed = uint64_t(flags.run.training.seed);
  return federation::ParentOptions{.client = std::move(options), .secret = place.meeting.secret};
}

}  // namespace dtnn
