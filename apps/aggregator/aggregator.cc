// Averages what clients train on data of their own: docs/federation.md.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/aggregator/aggregator_flags.h"
#include "apps/aggregator/run.h"
#include "apps/flags/option_table.h"
#include "apps/flags/tool_flags.h"
#include "apps/printing/name_lists.h"
#include "apps/program/paths.h"
#include "apps/program/run_program.h"
#include "comm/ranks/job/exit_code.h"
#include "models/observe/report/report_name.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "aggregator --model=NAME [--dataset=NAME] [--rounds=N] [--min-clients=K] ...\n\n"
    "Gives clients (benchmark --parallel=federated --server=HOST:PORT) the parameters of a "
    "network,\n"
    "and averages the models that they train on data of their own: docs/federation.md. All need "
    "the\n"
    "same secret:\n\n  umask 077 && openssl rand -hex 32 >secret\n"
    "  DTNN_JOB_SECRET_FILE=secret aggregator --model=simplecnn8 --dataset=mnist --rounds=10";

constexpr Range kRounds = {.low = 1, .high = 1e9}, kClients = {.low = 1, .high = 64};
constexpr Range kShare = {.low = 0, .high = 1, .low_open = true};
constexpr Range kClasses = {.low = 0, .high = 65536};
constexpr Range kNumber = {.low = 0, .high = 1e38};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};
constexpr Range kSeconds = {.low = 0.5, .high = 1e9};

std::vector<OptionSpec> Flags(AggregatorFlags& flags) {
  using enum OptionType;
  Options& run = flags.run;
  return {
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
      LikeLauncher("model", &run.network.name,
                   "network; if not given, as the file of --weights-and-bias-filename says; "
                   "--model=list shows all"),
      LikeLauncher("dataset", &run.data.name,
                   "data set whose shape and classes the clients' samples have; if not given, the "
                   "model's own"),
      {.name = "input-shape",
       .type = kInts,
       .help = "size of the clients' samples, if --dataset does not say it",
       .unit = "channels,height,width",
       .range = kSideRange,
       .field = &flags.input_shape},
      {.name = "num-classes",
       .type = kInt,
       .help = "classes of the clients' data, or values per sample, where --dataset does not say "
               "it; 0: not given",
       .unit = "classes",
       .range = kClasses,
       .field = &flags.num_classes},
      {.name = "class-names",
       .type = kPath,
       .help = "file with a class name per line, or the folder of --dataset=folder: clients match "
               "their classes by name, and may lack some; if not given, as the file of "
               "--weights-and-bias-filename says",
       .field = &flags.class_names},
      LikeLauncher("loss-func", &run.training.loss),
      LikeLauncher("tensor-format", &run.network.format),
      LikeLauncher("freeze", &run.network.freeze),
      LikeLauncher("weights-and-bias-filename", &run.network.weights),
      LikeLauncher("random-seed", &run.training.seed),
      {.name = "rounds",
       .type = kInt,
       .help = "number of rounds: in each, clients train and the aggregator averages their models",
       .unit = "rounds",
       .range = kRounds,
       .field = &flags.rounds},
      {.name = "min-clients",
       .type = kInt,
       .help = "fewest clients with which a round begins, and fewest updates that it needs",
       .unit = "clients",
       .range = kClients,
       .field = &flags.min_clients},
      {.name = "client-fraction",
       .type = kReal,
       .help = "fraction of the connected clients that a round asks, at least --min-clients",
       .unit = "fraction",
       .range = kShare,
       .field = &flags.client_fraction},
      {.name = "deadline",
       .type = kReal,
       .help = "how long a round waits for updates",
       .unit = "seconds",
       .range = kSeconds,
       .field = &flags.deadline},
      {.name = "strategy",
       .type = kWord,
       .help = "how updates become the next parameters",
       .words = "avg,wavg,invwavg,fedprox,fedavgm,fedadam",
       .field = &flags.strategy,
       .meanings = "avg: mean of the clients' parameters\n"
                   "wavg: the same, weighted by their samples\n"
                   "invwavg: more samples, less weight\n"
                   "fedprox: wavg, and clients stay near the parameters of the round\n"
                   "fedavgm: wavg with momentum\n"
                   "fedadam: Adam, on the difference that wavg makes\n"},
      {.name = "proximal-mu",
       .type = kReal,
       .help = "fedprox: how strongly clients stay near the parameters of the round",
       .unit = "factor",
       .range = kNumber,
       .field = &flags.proximal_mu},
      {.name = "server-learning-rate",
       .type = kReal,
       .help = "fedavgm, fedadam: size of a round's step; 0: 1 and 0.1",
       .unit = "rate",
       .range = kNumber,
       .field = &flags.server_learning_rate},
      {.name = "server-momentum",
       .type = kReal,
       .help = "fedavgm, fedadam: momentum, the decay rate of the mean of earlier rounds",
       .unit = "factor",
       .range = kBelow1,
       .field = &flags.server_momentum},
      {.name = "max-update-norm",
       .type = kReal,
       .help = "skip updates that are farther from the parameters of the round; 0: none",
       .unit = "norm",
       .range = kNumber,
       .field = &flags.max_update_norm},
      LikeLauncher("encryption", &run.encryption.kind),
      LikeLauncher("encryption-poly-degree", &run.encryption.poly_degree),
      LikeLauncher("encryption-global-scale", &run.encryption.global_scale),
      LikeLauncher("encryption-security-level", &run.encryption.security_level),
      LikeLauncher("dp-clip", &run.federation.dp_clip),
      LikeLauncher("dp-noise", &run.federation.dp_noise),
      LikeLauncher("dp-delta", &run.federation.dp_delta),
      LikeLauncher("comm-timeout", &run.ranks.timeout, "how long to wait for enough clients"),
      LikeLauncher("checkpoint-dir", &run.checkpoint.folder,
                   "save the state after each round in this folder, for --resume"),
      LikeLauncher("resume", &run.checkpoint.resume,
                   "continue after the last round in --checkpoint-dir; if-there: begin a new "
                   "federation if there is none"),
      LikeLauncher("history-file", &run.output.history,
                   "write the clients' metrics, weighted with their samples, and bytes and "
                   "seconds of every round to this file: .csv"),
      LikeLauncher("report", &run.output.report,
                   "after each round, write a page with the same to this file: .html"),
      {.name = "clients-file",
       .type = kPath,
       .help = "write what each client did in every round to this file: .csv",
       .field = &flags.clients_file,
       .example = "clients.csv"},
      LikeLauncher("save-model", &run.output.model,
                   "write the weights after the last round to this file: .npz or .safetensors"),
  };
}

// Checks flags against each other.
absl::Status CheckFlags(const AggregatorFlags& flags) {
  const Options& run = flags.run;
  if (run.network.name.empty() && run.network.weights.empty()) {
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn8, or a saved model with "
        "--weights-and-bias-filename=FILE");
  }
  if (Resumes(run) && run.checkpoint.folder.empty()) {
    return UsageError("--resume: needs --checkpoint-dir, the folder of the rounds");
  }
  if (!run.output.report.empty() && !IsReportName(run.output.report)) {
    return UsageError("--report=", run.output.report, ": unknown ending; must be .html or .htm");
  }
  const std::string& encryption = run.encryption.kind;
  if ((encryption == "masked" || encryption == "openfhe") && flags.min_clients < 2) {
    return UsageError("--min-clients=", flags.min_clients, ": --encryption=", encryption,
                      " needs 2 or more: the sum of one is its update");
  }
  if (encryption == "tenseal" && (flags.strategy == "fedavgm" || flags.strategy == "fedadam")) {
    return UsageError("--strategy=", flags.strategy,
                      ": needs the mean, which only clients can read with --encryption=tenseal");
  }
  if (flags.max_update_norm > 0 && !encryption.empty()) {
    return UsageError("--max-update-norm: needs updates that the aggregator can read, and not ",
                      "with --encryption=", encryption);
  }
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  AggregatorFlags flags;
  const std::vector<OptionSpec> specs = Flags(flags);
  DTNN_ASSIGN_OR_RETURN(const ToolRequest request, ParseToolFlags(arguments, specs));
  if (request.action == Action::kHelp) {
    std::cout << ToolHelp(kSummary, specs, request.help_topic);
    return absl::OkStatus();
  }
  if (PrintList(request.action, std::cout)) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(CheckFlags(flags));
  if (!flags.run.network.name.empty()) {
    DTNN_RETURN_IF_ERROR(CheckModelName(flags.run.network.name));
  }
  return RunAggregator(flags, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("aggregator", argc, argv, "use a smaller network", dtnn::Run);
}
