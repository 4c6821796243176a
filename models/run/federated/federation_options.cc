#include "models/run/federated/federation_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/transport/grpc/grpc_datagrams.h"
#include "comm/transport/mqtt/mqtt_datagrams.h"
#include "comm/transport/relay/relay_door.h"
#include "comm/transport/tls/tls_stream.h"
#include "models/graph/network.h"
#include "models/run/parts/make_encryption.h"
#include "tensor/errors.h"
#include "tensor/format.h"

namespace dtnn {

using federation::ModelFacts;
using federation::Protection;
using federation::ProtectionOptions;

namespace {

constexpr char kKeyPurpose[] = "DTNN federation: key of the clients";

// Nothing where none is given.
absl::StatusOr<std::optional<Secret>> ReadClientKey(const RunOptions& options) {
  if (options.encryption.kind.empty() || options.encryption.key_file.empty()) return std::nullopt;
  DTNN_ASSIGN_OR_RETURN(Secret secret, ReadEncryptionKey(options, kKeyPurpose));
  return secret;
}

// The aggregator knows the job's secret.
absl::Status CheckKeyIsNotOfJob(const std::optional<Secret>& key, const JobSecret& job) {
  if (!key) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Secret of_job, job.Derive(kKeyPurpose));
  if (!key->Equals(of_job)) return absl::OkStatus();
  return UsageError(
      "RunOptions::encryption.key_file: holds the job's secret, which the aggregator knows too; "
      "make another "
      "one for the clients (`openssl rand -hex 32`)");
}

absl::StatusOr<std::string> ClientNameOf(const RunOptions& options) {
  std::string name = options.federation.client_name;
  if (name.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    name = host.data();
    if (!options.data.part.empty()) {
      name += "-" + options.data.part.substr(0, options.data.part.find('@'));
    }
    std::ranges::replace(name, '/', '-');
  }
  const absl::Status good = federation::CheckClientName(name);
  if (!good.ok()) return UsageError("RunOptions::federation.client_name: ", good.message());
  return name;
}

absl::StatusOr<federation::Labels> LabelsOf(const RunOptions& options) {
  absl::StatusOr<federation::Labels> labels =
      federation::ParseLabels(options.federation.client_labels);
  if (labels.ok()) return labels;
  return UsageError("RunOptions::federation.client_labels: ", labels.status().message());
}

absl::StatusOr<federation::ClientIdentity> IdentityOf(const RunOptions& options) {
  federation::ClientIdentity identity = {.key_file = options.federation.identity_key_file};
  DTNN_ASSIGN_OR_RETURN(identity.name, ClientNameOf(options));
  if (!identity.key_file.empty()) {
    DTNN_RETURN_IF_ERROR(WithContext(ReadEd25519File(identity.key_file).status(),
                                     "RunOptions::federation.identity_key_file"));
  }
  if (options.federation.aggregator_key.empty()) return identity;
  const absl::StatusOr<Ed25519PublicKey> key =
      Ed25519PublicKeyFromText(options.federation.aggregator_key);
  if (!key.ok()) {
    return UsageError("RunOptions::federation.aggregator_key: ", key.status().message());
  }
  identity.aggregator = *key;
  return identity;
}

}  // namespace

ProtectionOptions ProtectionOf(const RunOptions& options) {
  ProtectionOptions protection;
  protection.protection = options.encryption.kind == "masked"    ? Protection::kMasked
                          : options.encryption.kind == "tenseal" ? Protection::kSharedKey
                          : options.encryption.kind == "openfhe" ? Protection::kThreshold
                                                                 : Protection::kNone;
  protection.mask_neighbours = int(options.federation.mask_neighbours);
  const ckks::CkksParameters given = CkksParametersOf(options);
  protection.log2_degree = given.log2_degree;
  protection.security = given.security;
  protection.log2_scale = given.log2_scale;
  protection.privacy = {.clip = options.federation.dp_clip,
                        .noise = options.federation.dp_noise,
                        .delta = options.federation.dp_delta,
                        .quantile = options.federation.dp_quantile,
                        .clip_rate = options.federation.dp_clip_rate,
                        .bit_noise = options.federation.dp_bit_noise};
  return protection;
}

absl::Status CheckProtection(const RunOptions& options, const ModelFacts& model) {
  const federation::PrivacyOptions privacy = ProtectionOf(options).privacy;
  const absl::Status good = Validate(privacy);
  if (!good.ok())
    return UsageError(privacy.adapts()
                          ? "RunOptions::federation.dp_quantile, RunOptions::federation.dp_clip, "
                            "RunOptions::federation.dp_noise, RunOptions::federation.dp_delta, "
                            "RunOptions::federation.dp_clip_rate, "
                            "RunOptions::federation.dp_bit_noise: "
                          : "RunOptions::federation.dp_clip, RunOptions::federation.dp_noise, "
                            "RunOptions::federation.dp_delta: ",
                      good.message());
  if (privacy.adapts() && options.encryption.kind == "tenseal") {
    return UsageError(
        "RunOptions::federation.dp_quantile: not with RunOptions::encryption.kind=tenseal: the "
        "clip follows the mean of what clients say of their updates, which only clients could "
        "read");
  }
  if (privacy.on() && model.values != model.trainable) {
    return UsageError(
        "RunOptions::federation.dp_clip: not with this network: the running statistics of batch "
        "normalization are "
        "exchanged too, and noise would make variances negative; "
        "RunOptions::federation.local_parameters=*_running_* keeps them with the clients");
  }
  const absl::Status status =
      federation::Protector::Create(ProtectionOf(options), size_t(model.values)).status();
  if (status.ok()) return status;
  return UsageError(
      "RunOptions::encryption.kind=", options.encryption.kind,
      " with RunOptions::encryption.poly_degree, RunOptions::encryption.global_scale and "
      "RunOptions::encryption.security_level: ",
      status.message());
}

absl::StatusOr<ExchangedParameters> FindExchanged(const RunOptions& options, const Graph& graph,
                                                  const ParameterStore& store) {
  absl::StatusOr<ExchangedParameters> exchanged =
      ExchangedParameters::Create(graph, store, options.federation.local_parameters);
  if (exchanged.ok()) return exchanged;
  if (options.federation.local_parameters.empty()) return exchanged;  // the network's fault
  return UsageError("RunOptions::federation.local_parameters: ", exchanged.status().message());
}

absl::StatusOr<ModelFacts> ModelFactsOf(const Graph& graph, const ParameterStore& store,
                                        const ExchangedParameters& exchanged) {
  if (store.dtype() != DType::kFloat32) {
    return absl::InvalidArgumentError("a federation exchanges float32 only");
  }
  const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
  ModelFacts model = {
      .values = exchanged.values(),
      .trainable = exchanged.trainable(),
      .sample = {uint32_t(sample.height), uint32_t(sample.width), uint32_t(sample.channels)}};
  const std::string text = NetworkText(graph);
  DTNN_ASSIGN_OR_RETURN(model.network, Sha256({AsBytes(text)}));
  if (exchanged.local_values() > 0) {
    const std::string local = exchanged.LocalText();
    DTNN_ASSIGN_OR_RETURN(model.local, Sha256({AsBytes(local)}));
  }
  return model;
}

absl::StatusOr<Meeting> FindMeeting(std::string_view text, std::string_view flag,
                                    TransportChoice transport, std::string_view self,
                                    const GetVariable& get) {
  DTNN_ASSIGN_OR_RETURN(const Endpoint endpoint, OfFlag(ParseEndpoint(text), flag));
  LaunchPlace here = {.transport = transport.value_or(FindLaunchPlace().transport),
                      .address = std::string(text)};
  if (here.transport == Transport::kUnknown) return WithExitCode(CheckTransport(), kExitUsage);
  if (here.transport == Transport::kMpi) here.transport = Transport::kTcp;  // what nobody has set
  absl::StatusOr<JobEnvironment> job = FindJob(here, get);
  if (!job.ok()) return OfEnvironment(job.status());
  Meeting meeting = {
      .place = {.address = endpoint}, .secret = job->secret, .warning = std::move(job->warning)};
  const std::optional<JobCertificates> tls = job->tls;
  if (here.transport == Transport::kGrpc) {
    GrpcOptions options = {.size = kRanksOfDoor,
                           .only_with_rank_0 = true,
                           .address = endpoint,
                           .self = std::string(self),
                           .server = kAggregatorName};
    if (tls) {
      options.tls = {.certificate = tls->certificate, .key = tls->key, .authority = tls->authority};
    }
    meeting.place.datagrams = [options](const JobSecret& secret) {
      return MakeGrpcDatagrams(options, secret);
    };
  } else if (here.transport == Transport::kMqtt) {
    MqttOptions options = {.broker = endpoint,
                           .user = job->broker_user,
                           .password = job->broker_password,
                           .self = std::string(self)};
    if (tls) {
      options.tls = {.authority = tls->authority, .certificate = tls->certificate, .key = tls->key};
    }
    meeting.place.datagrams = [options](const JobSecret& secret) {
      return MakeMqttDatagrams(options, secret);
    };
  } else if (tls) {
    DTNN_ASSIGN_OR_RETURN(meeting.place.stream, TlsStreams({.certificate = tls->certificate,
                                                            .key = tls->key,
                                                            .authority = tls->authority}));
  }
  if (meeting.place.datagrams) {
    // Files that cannot be used are found now, not when the carrier is called.
    DTNN_RETURN_IF_ERROR(meeting.place.datagrams(meeting.secret).status());
  }
  return meeting;
}

absl::StatusOr<ClientPlace> FindClientPlace(const RunOptions& options, std::string_view flag,
                                            const GetVariable& get) {
  DTNN_ASSIGN_OR_RETURN(federation::ClientIdentity identity, IdentityOf(options));
  DTNN_ASSIGN_OR_RETURN(federation::Labels labels, LabelsOf(options));
  DTNN_ASSIGN_OR_RETURN(std::optional<Secret> key, ReadClientKey(options));
  DTNN_ASSIGN_OR_RETURN(Meeting meeting,
                        FindMeeting(options.federation.server, flag, options.ranks.transport,
                                    StrCat("client ", identity.name), get));
  DTNN_RETURN_IF_ERROR(CheckKeyIsNotOfJob(key, meeting.secret));
  const bool hidden = options.encryption.kind == "masked" || options.encryption.kind == "openfhe";
  if (hidden && !key) {
    StrAppend(
        &meeting.warning, meeting.warning.empty() ? "" : "; ",
        "RunOptions::encryption.kind=", options.encryption.kind,
        " without RunOptions::encryption.key_file: protects this client's updates only from an "
        "aggregator that follows the protocol (docs/security.md)");
  }
  return ClientPlace{.meeting = std::move(meeting),
                     .identity = std::move(identity),
                     .labels = std::move(labels),
                     .key = std::move(key)};
}

}  // namespace dtnn
