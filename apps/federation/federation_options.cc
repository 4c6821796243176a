#include "apps/federation/federation_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "comm/crypto/hash.h"
#include "comm/job/exit_code.h"
#include "comm/launch_place.h"
#include "comm/tcp/job_environment.h"
#include "comm/tls/tls_stream.h"
#include "models/graph/network.h"
#include "tensor/errors.h"

namespace dtnn {

using federation::ModelFacts;
using federation::Protection;
using federation::ProtectionOptions;

ProtectionOptions ProtectionOf(const Options& options) {
  ProtectionOptions protection;
  protection.protection = options.encryption == "masked"    ? Protection::kMasked
                          : options.encryption == "tenseal" ? Protection::kSharedKey
                          : options.encryption == "openfhe" ? Protection::kThreshold
                                                            : Protection::kNone;
  protection.log2_degree = int(options.encryption_poly_degree);
  // With threshold keys the default is another one.
  if (protection.protection == Protection::kSharedKey ||
      options.given.contains("encryption-global-scale")) {
    protection.log2_scale = int(options.encryption_global_scale);
  }
  protection.security = std::atoi(options.encryption_security_level.c_str());
  return protection;
}

absl::Status CheckProtection(const Options& options, const ModelFacts& model) {
  const absl::Status status =
      federation::Protector::Create(ProtectionOf(options), size_t(model.values)).status();
  if (status.ok()) return status;
  return UsageError("--encryption=", options.encryption,
                    " with --encryption-poly-degree, --encryption-global-scale and "
                    "--encryption-security-level: ",
                    status.message());
}

absl::StatusOr<ModelFacts> ModelFactsOf(const Graph& graph, const ParameterStore& store) {
  if (store.dtype() != DType::kFloat32) {
    return absl::InvalidArgumentError("a federation exchanges float32 only");
  }
  ModelFacts model = {.values = uint64_t(store.unfrozen().num_elements()),
                      .trainable = uint64_t(store.values().num_elements())};
  const std::string text = NetworkText(graph);
  DTNN_ASSIGN_OR_RETURN(model.network, Sha256({AsBytes(text)}));
  if (model.trainable == 0) {
    return absl::InvalidArgumentError("the network has no parameters that training changes");
  }
  return model;
}

absl::StatusOr<std::optional<Secret>> ReadClientKey(const Options& options) {
  if (options.encryption != "tenseal") return std::nullopt;
  absl::StatusOr<JobSecret> key = ReadSecretFile(options.encryption_key_file);
  if (!key.ok()) return UsageError("--encryption-key-file: ", key.status().message());
  DTNN_ASSIGN_OR_RETURN(Secret secret, key->Derive("DTNN federation: key of the clients"));
  return secret;
}

absl::StatusOr<std::string> ClientNameOf(const Options& options) {
  std::string name = options.client_name;
  if (name.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    name = host.data();
    if (!options.dataset_part.empty()) name += "-" + options.dataset_part;
    std::ranges::replace(name, '/', '-');
  }
  const absl::Status good = federation::CheckClientName(name);
  if (!good.ok()) return UsageError("--client-name: ", good.message());
  return name;
}

absl::StatusOr<Meeting> FindMeeting(std::string_view text, std::string_view flag) {
  DTNN_ASSIGN_OR_RETURN(const Endpoint endpoint, OfFlag(ParseEndpoint(text), flag));
  setenv(kAddressVariable, endpoint.host.c_str(), 1);
  setenv(kPortVariable, std::to_string(endpoint.port).c_str(), 1);
  absl::StatusOr<JobEnvironment> job = FindJob(LaunchPlace());
  if (!job.ok()) return WithExitCode(job.status(), kExitUsage);
  Meeting meeting = {.endpoint = endpoint,
                     .secret = job->secret,
                     .stream = {},
                     .warning = std::move(job->warning)};
  if (!job->tls) return meeting;
  absl::StatusOr<StreamMaker> streams = TlsStreams({.certificate = job->tls->certificate,
                                                    .key = job->tls->key,
                                                    .authority = job->tls->authority});
  if (!streams.ok()) return WithExitCode(streams.status(), kExitUsage);
  meeting.stream = *std::move(streams);
  return meeting;
}

}  // namespace dtnn
