#include "apps/rounds/round_flags.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "apps/flags/tool_flags.h"
#include "comm/federation/aggregator/robust_mean.h"
#include "comm/ranks/job/exit_code.h"
#include "models/observe/report/report_name.h"
#include "models/run/options/option_value.h"
#include "tensor/status_macros.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using federation::RobustOptions;

constexpr Range kRounds = {.low = 1, .high = 1e9};
constexpr Range kNumber = {.low = 0, .high = 1e38};
constexpr Range kBelow1 = {.low = 0, .high = 1, .high_open = true};

// Whether it is to leave some updates out: of n a whole number, which is rounded down.
bool LeavesOutAFraction(const RobustOptions& robust) {
  return robust.number > 0 && (robust.kind == federation::RobustKind::kTrimmed ||
                               robust.kind == federation::RobustKind::kKrum);
}

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
       .words = "avg,wavg,invwavg,fedprox,fednova,fedavgm,fedadam,fedyogi,fedadagrad",
       .field = &flags.strategy,
       .meanings = "avg: mean of the clients' parameters\n"
                   "wavg: the same, weighted by their samples\n"
                   "invwavg: more samples, less weight\n"
                   "fedprox: wavg, and clients stay near the parameters of the round\n"
                   "fednova: wavg of what a step of each client does: for different numbers of "
                   "steps\n"
                   "fedavgm: wavg with momentum\n"
                   "fedadam: Adam, on the difference that wavg makes\n"
                   "fedyogi: the same, but steps grow slowly after a large difference\n"
                   "fedadagrad: the same, but steps only get smaller\n"},
      {.name = "proximal-mu",
       .type = kReal,
       .help = "fedprox: how strongly clients stay near the parameters of the round",
       .unit = "factor",
       .range = kNumber,
       .field = &flags.proximal_mu},
      {.name = "server-learning-rate",
       .type = kReal,
       .help = "fedavgm, fedadam, fedyogi, fedadagrad: size of a round's step; 0: 1 with "
               "fedavgm, 0.1 with the others",
       .unit = "rate",
       .range = kNumber,
       .field = &flags.server_learning_rate},
      {.name = "server-momentum",
       .type = kReal,
       .help = "fedavgm, fedadam, fedyogi, fedadagrad: momentum, the decay rate of the mean of "
               "earlier rounds",
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
               "are shortened to the length R. Of n updates, F n is rounded down",
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

namespace {

// The later of two outputs would replace the earlier one, or be refused after hours.
absl::Status CheckDifferentFiles(const RoundFlags& flags, const Options& run) {
  const std::pair<std::string_view, std::string_view> files[] = {
      {"--history-file", run.output.history},
      {"--clients-file", flags.clients_file},
      {"--report", run.output.report},
      {"--save-model", run.output.model}};
  std::map<std::filesystem::path, std::string_view> flag_of;
  for (const auto& [flag, path] : files) {
    if (path.empty()) continue;
    std::error_code unclear;  // then the path as it is given
    const std::filesystem::path whole = std::filesystem::absolute(path, unclear);
    const std::filesystem::path real = std::filesystem::weakly_canonical(whole, unclear);
    const auto [first, is_new] = flag_of.emplace(unclear ? whole : real, flag);
    if (is_new) continue;
    return UsageError(first->second, " and ", flag, "=", OneLine(path, 500),
                      ": are one file; give each a name of its own");
  }
  return absl::OkStatus();
}

absl::Status CheckRobustMean(const RoundFlags& flags, const Options& run, const RoundSizes& sizes) {
  const absl::StatusOr<RobustOptions> robust = federation::ParseRobust(flags.robust);
  if (!robust.ok()) return UsageError("--robust=", robust.status().message());
  const int64_t least = federation::LeastUpdates(*robust);
  if (sizes.least < least) {
    return UsageError("--min-clients=", sizes.least, ": --robust=", flags.robust,
                      least > federation::kMostKrumUpdates
                          ? std::string(" leaves out too many; take a smaller fraction")
                          : StrCat(" needs ", least,
                                   " or more, 3 more than twice the updates that it leaves out"));
  }
  if (LeavesOutAFraction(*robust) && federation::LeftOut(*robust, sizes.most) == 0) {
    return UsageError("--robust=", flags.robust, ": of ", sizes.most,
                      " updates, the most of a round, it leaves out ",
                      robust->number * double(sizes.most),
                      ", which is none; give a larger fraction");
  }
  if (robust->on() && StrategyOf(flags).by_steps()) {
    return UsageError("--robust=", flags.robust, ": not with --strategy=", flags.strategy,
                      ", which needs the mean of the updates");
  }
  const std::string& encryption = run.encryption.kind;
  if (robust->on() && (!encryption.empty() || run.federation.dp_clip > 0)) {
    return UsageError("--robust=", flags.robust,
                      ": needs updates that the aggregator can read, without noise; not with ",
                      encryption.empty() ? "--dp-clip" : "--encryption");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRoundFlags(const RoundFlags& flags, const Options& run, const RoundSizes& sizes) {
  if (Resumes(run) && run.checkpoint.folder.empty()) {
    return UsageError("--resume: needs --checkpoint-dir, the folder of the rounds");
  }
  if (!run.output.report.empty() && !IsReportName(run.output.report)) {
    return UsageError("--report=", run.output.report, ": unknown ending; must be .html or .htm");
  }
  const std::string& encryption = run.encryption.kind;
  if ((encryption == "masked" || encryption == "openfhe") && sizes.least < 2) {
    return UsageError("--min-clients=", sizes.least, ": --encryption=", encryption,
                      " needs 2 or more: the sum of one is its update");
  }
  if (encryption == "tenseal" && StrategyOf(flags).reads_average()) {
    return UsageError("--strategy=", flags.strategy,
                      ": needs the mean, which only clients can read with --encryption=tenseal");
  }
  if (flags.max_update_norm > 0 && !encryption.empty()) {
    return UsageError("--max-update-norm: needs updates that the aggregator can read, and not ",
                      "with --encryption=", encryption);
  }
  DTNN_RETURN_IF_ERROR(CheckDifferentFiles(flags, run));
  return CheckRobustMean(flags, run, sizes);
}

std::vector<std::string> WarningsOf(const RoundFlags& flags, const RoundSizes& sizes) {
  const absl::StatusOr<RobustOptions> robust = federation::ParseRobust(flags.robust);
  if (!robust.ok() || !LeavesOutAFraction(*robust)) return {};
  const auto least = int64_t(std::ceil(1 / robust->number - 1e-9));  // of which it leaves out one
  const int64_t n = sizes.expected, left_out = federation::LeftOut(*robust, n);
  const double exact = robust->number * double(n);
  const bool rounded = exact - double(left_out) > 1e-6;
  if (!rounded && sizes.least >= least) return {};
  std::string text = StrCat("--robust=", flags.robust, ": leaves out ");
  if (left_out > 0) {
    StrAppend(&text, left_out, " of ", n, " updates");
    if (rounded) StrAppend(&text, " (", exact, ", rounded down)");
  }
  if (sizes.least < least) {
    StrAppend(&text, left_out > 0 ? ", and " : "", "none of fewer than ", least,
              "; --min-clients=", least, " asks for as many");
  }
  return {text};
}

std::vector<IdentityMember> MembersOf(const RoundFlags& flags) {
  const federation::StrategyOptions strategy = StrategyOf(flags);
  std::vector<IdentityMember> members = {
      {.what = "--robust", .value = flags.robust.empty() ? "none" : flags.robust},
      {.what = "--max-update-norm", .value = FormatValue(ToValue(flags.max_update_norm))}};
  if (strategy.reads_average() && !strategy.by_steps()) {
    members.push_back(
        {.what = "--server-learning-rate", .value = FormatValue(ToValue(strategy.rate()))});
    members.push_back(
        {.what = "--server-momentum", .value = FormatValue(ToValue(strategy.momentum))});
  }
  if (strategy.strategy == federation::Strategy::kFedprox) {
    members.push_back({.what = "--proximal-mu", .value = FormatValue(ToValue(strategy.proximal))});
  }
  return members;
}

federation::StrategyOptions StrategyOf(const RoundFlags& flags) {
  return {.strategy = *federation::ParseStrategy(flags.strategy),
          .proximal = flags.proximal_mu,
          .learning_rate = flags.server_learning_rate,
          .momentum = flags.server_momentum};
}

}  // namespace dtnn
