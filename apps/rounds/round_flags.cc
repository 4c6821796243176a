#include "apps/rounds/round_flags.h"

#include "apps/flags/tool_flags.h"
#include "comm/federation/aggregator/robust_mean.h"
#include "comm/ranks/job/exit_code.h"
#include "models/observe/report/report_name.h"

namespace dtnn {
namespace {

constexpr Range kRounds = {.low = 1, .high = 1e9};
constexpr Range kNumber = {.low = 0, .high = 1e38};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};

}  // namespace

std::vector<OptionSpec> OptionsOfStrategy(RoundFlags& flags) {
  using enum OptionType;
  return {
      {.name = "rounds",
       .type = kInt,
       .help = "number of rounds: in each, clients train and the aggregator averages their models",
       .unit = "rounds",
       .range = kRounds,
       .field = &flags.rounds},
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
      {.name = "robust",
       .type = kText,
       .help = "in place of the mean of updates one that a few bad ones cannot move far: median; "
               "trimmed:F, without the fraction F of the largest and smallest numbers; krum:F, of "
               "all but the fraction F that is farthest from the others; norm:R, of updates that "
               "are shortened to the length R",
       .unit = "MEAN",
       .field = &flags.robust,
       .example = "trimmed:0.2"},
  };
}

std::vector<OptionSpec> OptionsOfPrivacy(Options& run) {
  return {
      LikeLauncher("dp-clip", &run.federation.dp_clip),
      LikeLauncher("dp-noise", &run.federation.dp_noise),
      LikeLauncher("dp-delta", &run.federation.dp_delta),
  };
}

std::vector<OptionSpec> OptionsOfRoundFiles(RoundFlags& flags, Options& run) {
  return {
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
       .type = OptionType::kPath,
       .help = "write what each client did in every round to this file: .csv",
       .field = &flags.clients_file,
       .example = "clients.csv"},
      LikeLauncher("save-model", &run.output.model,
                   "write the weights after the last round to this file: .npz or .safetensors"),
  };
}

absl::Status CheckRoundFlags(const RoundFlags& flags, const Options& run, int64_t min_clients) {
  if (Resumes(run) && run.checkpoint.folder.empty()) {
    return UsageError("--resume: needs --checkpoint-dir, the folder of the rounds");
  }
  if (!run.output.report.empty() && !IsReportName(run.output.report)) {
    return UsageError("--report=", run.output.report, ": unknown ending; must be .html or .htm");
  }
  const std::string& encryption = run.encryption.kind;
  if ((encryption == "masked" || encryption == "openfhe") && min_clients < 2) {
    return UsageError("--min-clients=", min_clients, ": --encryption=", encryption,
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
  const absl::StatusOr<federation::RobustOptions> robust = federation::ParseRobust(flags.robust);
  if (!robust.ok()) return UsageError("--robust=", robust.status().message());
  const int64_t least = federation::LeastUpdates(*robust);
  if (min_clients < least) {
    return UsageError("--min-clients=", min_clients, ": --robust=", flags.robust,
                      least > federation::kMostKrumUpdates
                          ? std::string(" leaves out too many; take a smaller fraction")
                          : StrCat(" needs ", least,
                                   " or more, 3 more than twice the updates that it leaves out"));
  }
  if (robust->on() && (!encryption.empty() || run.federation.dp_clip > 0)) {
    return UsageError("--robust=", flags.robust,
                      ": needs updates that the aggregator can read, without noise; not with ",
                      encryption.empty() ? "--dp-clip" : "--encryption");
  }
  return absl::OkStatus();
}

federation::StrategyOptions StrategyOf(const RoundFlags& flags) {
  return {.strategy = *federation::ParseStrategy(flags.strategy),
          .proximal = flags.proximal_mu,
          .learning_rate = flags.server_learning_rate,
          .momentum = flags.server_momentum};
}

}  // namespace dtnn
