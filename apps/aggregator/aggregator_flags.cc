#include "apps/aggregator/aggregator_flags.h"

#include <string_view>
#include <utility>

#include "apps/flags/tool_flags.h"
#include "apps/monitor/monitor_flags.h"
#include "apps/program/image_flags.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr Range kClients = {.low = 1, .high = federation::kMostParticipants};
constexpr Range kConnections = {.low = 1, .high = 1 << 20};
constexpr Range kMebibytes = {.low = 1, .high = 1 << 24};
constexpr Range kShare = {.low = 0, .high = 1, .low_open = true};
constexpr Range kClasses = {.low = 0, .high = 65536};
constexpr Range kSeconds = {.low = 0.5, .high = 1e9};

constexpr std::string_view kMonitorHelp =
    "port of TCP for a page (/), /healthz, "
    "/metrics for Prometheus, /status.json; 0: a free one, which is printed";

}  // namespace

std::vector<OptionSpec> OptionsOf(AggregatorFlags& flags) {
  using enum OptionType;
  Options& run = flags.run;
  std::vector<OptionSpec> specs = {
      {.name = "address",
       .type = kText,
       .help = "where to listen, or, with mqtt, the broker",
       .unit = "HOST:PORT",
       .field = &flags.address,
       .example = "node1:61643"},
      {.name = "transport",
       .type = kWord,
       .help = "transport of the messages between clients and aggregator",
       .words = "auto,tcp,grpc,mqtt",
       .field = &run.ranks.transport,
       .meanings = "auto: as the variable PYMPI_PROTO says, or tcp\n"
                   "tcp: connections of clients to the aggregator\n"
                   "grpc: the same, by gRPC\n"
                   "mqtt: a broker, to which the aggregator connects too\n"},
      {.name = "allowed-clients",
       .type = kPath,
       .help = "file with a name and a public key per line: the clients that may take part, each "
               "with a proof of its name (--identity-key-file). It is read again while the "
               "federation runs. If not given, all that know the secret, under any name",
       .field = &flags.allowed_clients,
       .example = "allowed"},
      {.name = "identity-key-file",
       .type = kPath,
       .help = "file with the private key that the aggregator proves to clients with "
               "--aggregator-key, as make_certificates --identities writes it",
       .field = &flags.identity_key_file,
       .example = "aggregator.key"},
      {.name = "parent",
       .type = kText,
       .help = "where another aggregator listens, of which this one is a client: it has the rounds "
               "and the strategy, and gets the mean of this one's clients, with their weight",
       .unit = "HOST:PORT",
       .field = &flags.parent,
       .example = "node1:61643"},
      {.name = "parent-secret-file",
       .type = kPath,
       .help = "--parent: file with the secret of its federation; if not given, that of this one",
       .field = &flags.parent_secret_file,
       .example = "parent.secret"},
      LikeLauncher("client-name", &run.federation.client_name,
                   "--parent: name of this aggregator there, the same when it joins again; if not "
                   "given, the host's name"),
      LikeLauncher("client-labels", &run.federation.client_labels,
                   "--parent: what this aggregator says of itself there: labels by which it may "
                   "choose whom it asks"),
      LikeLauncher("aggregator-key", &run.federation.aggregator_key,
                   "--parent: public key that it must prove to have, in base64; empty: any process "
                   "that knows the secret is believed. This aggregator proves its own, of "
                   "--identity-key-file"),
      LikeLauncher("model", &run.network.name,
                   "network; if not given, as the file of --weights-and-bias-filename says; "
                   "--model=list shows all"),
      LikeLauncher("dataset", &run.data.name,
                   "data set whose shape and classes the clients' samples have; if not given, the "
                   "model's own"),
      InputShapeOption(flags.input_shape,
                       "size of the clients' samples, if --dataset does not say it"),
      {.name = "num-classes",
       .type = kInt,
       .help = "classes of the clients' data, or values per sample, where --dataset does not say "
               "it; 0: not given",
       .unit = "classes",
       .range = kClasses,
       .field = &flags.num_classes},
      ClassNamesOption(
          flags.class_names,
          "file with a class name per line, or the folder of --dataset=folder: clients match their "
          "classes by name, and may lack some; if not given, as the file of "
          "--weights-and-bias-filename says"),
      LikeLauncher("dataset-path", &run.data.path,
                   "data of the aggregator's own, on whose test split it tests the parameters of "
                   "rounds; clients have theirs"),
      OptionOfTests(flags.rounds, "1 where --dataset-path or --dataset-test-path is given, else 0"),
      LikeLauncher("batch-size", &run.training.batch, "samples of a step of the test"),
      LikeLauncher("metrics", &run.training.metrics, "metrics of the test"),
      LikeLauncher("loss-func", &run.training.loss),
      LikeLauncher("tensor-format", &run.network.format),
      LikeLauncher("freeze", &run.network.freeze),
      LikeLauncher("weights-and-bias-filename", &run.network.weights),
      LikeLauncher("random-seed", &run.training.seed),
      {.name = "min-clients",
       .type = kInt,
       .help = "fewest clients with which a round begins, and fewest updates that it needs",
       .unit = "clients",
       .range = kClients,
       .field = &flags.min_clients},
      {.name = "client-fraction",
       .type = kReal,
       .help = "fraction of the connected clients that a round asks, at least --min-clients; with "
               "--buffer-size, of those that train at a time",
       .unit = "fraction",
       .range = kShare,
       .field = &flags.client_fraction},
      {.name = "deadline",
       .type = kReal,
       .help = "how long a round, or a turn of a client with --buffer-size, waits for updates",
       .unit = "seconds",
       .range = kSeconds,
       .field = &flags.deadline},
      {.name = "max-connections",
       .type = kInt,
       .help = "most connections of clients at a time; the aggregator raises its limit of open "
               "files for them, as far as the system allows. Clients beyond them call again",
       .unit = "connections",
       .range = kConnections,
       .field = &flags.max_connections},
      {.name = "receive-memory",
       .type = kInt,
       .help = "memory for updates on their way, at least two; other clients wait until these are "
               "complete and added. Robust means need all updates, whatever this says",
       .unit = "MiB",
       .range = kMebibytes,
       .field = &flags.receive_memory},
      LikeLauncher("local-parameters", &run.federation.local_parameters),
      LikeLauncher("encryption", &run.encryption.kind),
      LikeLauncher("mask-neighbours", &run.federation.mask_neighbours),
      LikeLauncher("encryption-poly-degree", &run.encryption.poly_degree),
      LikeLauncher("encryption-global-scale", &run.encryption.global_scale),
      LikeLauncher("encryption-security-level", &run.encryption.security_level),
      LikeLauncher("comm-timeout", &run.ranks.timeout, "how long to wait for enough clients"),
      LikeLauncher("log-format", &run.log_format),
  };
  for (const std::vector<OptionSpec>& more :
       {OptionsOfStrategy(flags.rounds), OptionsOfPrivacy(run),
        OptionsOfRoundFiles(flags.rounds, run), OptionsOfTestSamples(run),
        MonitorFlags(flags.monitor, kMonitorHelp)}) {
    specs.insert(specs.end(), more.begin(), more.end());
  }
  return specs;
}

void FollowData(AggregatorFlags& flags) {
  if (flags.rounds.test_every != RoundFlags::kNotGiven) return;
  const bool has_data = !flags.run.data.path.empty() || !flags.run.data.test_path.empty();
  flags.rounds.test_every = has_data ? 1 : 0;
}

namespace {

// What the parent says, and what cannot be passed on to it. Options that have no effect are errors.
absl::Status CheckParentFlags(const AggregatorFlags& flags) {
  const Options& run = flags.run;
  if (flags.parent.empty()) {
    for (const auto& [flag, value] :
         {std::pair("--parent-secret-file", flags.parent_secret_file),
          std::pair("--client-name", run.federation.client_name),
          std::pair("--client-labels", run.federation.client_labels),
          std::pair("--aggregator-key", run.federation.aggregator_key)}) {
      if (value.empty()) continue;
      return UsageError(flag, "=", value, ": needs --parent, the aggregator that it is for");
    }
    return absl::OkStatus();
  }
  const RoundFlags standard, &rounds = flags.rounds;
  const std::pair<bool, std::string_view> of_parent[] = {
      {rounds.rounds != standard.rounds, "--rounds"},
      {rounds.strategy != standard.strategy, "--strategy"},
      {rounds.proximal_mu != standard.proximal_mu, "--proximal-mu"},
      {rounds.server_learning_rate != standard.server_learning_rate, "--server-learning-rate"},
      {rounds.server_momentum != standard.server_momentum, "--server-momentum"},
      {rounds.buffer_size != 0, "--buffer-size"},
      {rounds.test_every > 0, "--test-every, or data to test with"},
      {!run.checkpoint.folder.empty(), "--checkpoint-dir"},
      {run.checkpoint.resume != Resume::kNo, "--resume"}};
  for (const auto& [given, flag] : of_parent) {
    if (given) return UsageError(flag, ": not with --parent, which has it; give it there");
  }
  if (run.encryption.kind == "tenseal") {
    return UsageError(
        "--encryption=tenseal: not with --parent: this aggregator sends it the mean of its "
        "clients, and with tenseal cannot read it; --encryption=masked");
  }
  if (run.federation.dp_clip > 0) {
    return UsageError(
        "--dp-clip: not with --parent: neither of the two could count what the other's rounds "
        "reveal of a client");
  }
  if (!run.federation.local_parameters.empty()) {
    return UsageError("--local-parameters=", run.federation.local_parameters,
                      ": not with --parent: clients could not learn whether it has used their "
                      "updates");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAggregatorFlags(const AggregatorFlags& flags) {
  const Options& run = flags.run;
  if (run.network.name.empty() && run.network.weights.empty()) {
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn8, or a saved model with "
        "--weights-and-bias-filename=FILE");
  }
  DTNN_RETURN_IF_ERROR(CheckParentFlags(flags));
  const int most = MostClientsOf(flags);
  if (flags.min_clients > most) {
    if (!flags.rounds.robust.empty()) {
      return UsageError("--min-clients=", flags.min_clients, ": --robust=", flags.rounds.robust,
                        " averages ", most, " updates at most");
    }
    return UsageError("--min-clients=", flags.min_clients, ": --encryption=", run.encryption.kind,
                      " adds up ", most, " updates at most", HintOfNeighbours(run));
  }
  if (flags.rounds.buffer_size > flags.min_clients) {
    return UsageError("--buffer-size=", flags.rounds.buffer_size,
                      ": needs as many clients, since each gives one update of the same "
                      "parameters; --min-clients=",
                      flags.rounds.buffer_size, " waits for them");
  }
  if (flags.max_connections < flags.min_clients) {
    return UsageError("--max-connections=", flags.max_connections, ": a round needs ",
                      flags.min_clients, " clients (--min-clients)");
  }
  return CheckRoundFlags(flags.rounds, run, SizesOf(flags), flags.parent);
}

absl::Status CheckRelayedRounds(const AggregatorFlags& flags) {
  const int most = federation::MostAsked(ProtectionOf(flags.run), /*holds=*/true);
  if (flags.min_clients <= most) return absl::OkStatus();
  return UsageError("--min-clients=", flags.min_clients, ": rounds by gRPC or MQTT take ", most,
                    " clients at most; give no more, or --transport=tcp");
}

}  // namespace dtnn
