// What options of rounds must be, and what is said of them (round_flags.h).

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/rounds/round_flags.h"
#include "comm/federation/aggregator/choice/criterion.h"
#include "comm/federation/aggregator/compression_conflict.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/protection.h"
#include "comm/ranks/job/exit_code.h"
#include "models/observe/report/report_name.h"
#include "models/run/federated/federation_options.h"
#include "tensor/status_macros.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using federation::RobustOptions;

// Whether it is to leave some updates out: of n a whole number, which is rounded down.
bool LeavesOutAFraction(const RobustOptions& robust) {
  return robust.number > 0 && (robust.kind == federation::RobustKind::kTrimmed ||
                               robust.kind == federation::RobustKind::kKrum);
}

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
    const std::string_view flag = flags.buffer_size > 0 ? "--buffer-size=" : "--min-clients=";
    return UsageError(flag, sizes.least, ": --robust=", flags.robust,
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

absl::Status CheckBufferSize(const RoundFlags& flags, const Options& run) {
  if (flags.buffer_size == 0) {
    const RoundFlags waits;
    std::string more;
    if (flags.max_staleness != waits.max_staleness) {
      more = StrCat("--max-staleness=", flags.max_staleness);
    }
    if (flags.staleness_weight != waits.staleness_weight) {
      more = StrCat("--staleness-weight=", flags.staleness_weight);
    }
    if (more.empty()) return absl::OkStatus();
    return UsageError(more, ": needs --buffer-size; where rounds wait, no update is stale");
  }
  const std::string given = StrCat("--buffer-size=", flags.buffer_size);
  const int most_held = federation::MostAsked({}, !flags.robust.empty());
  if (flags.buffer_size > most_held) {
    return UsageError(given, ": --robust=", flags.robust, " needs all updates of the buffer at ",
                      "once, and takes ", most_held, " at most");
  }
  const std::string& local = run.federation.local_parameters;
  const auto conflict = federation::FindBufferConflict(StrategyOf(flags), ProtectionOf(run),
                                                       /*keeps_parameters=*/!local.empty());
  if (!conflict) return absl::OkStatus();
  const std::string with[] = {StrCat("--strategy=", flags.strategy),
                              StrCat("--encryption=", run.encryption.kind), "--dp-clip",
                              StrCat("--local-parameters=", local)};
  return UsageError(given, ": not with ", with[size_t(conflict->with)], ": ", conflict->why);
}

absl::Status CheckUpdateCompression(const RoundFlags& flags, const Options& run,
                                    std::string_view parent) {
  const absl::StatusOr<federation::Compression> compression =
      federation::ParseCompression(flags.compression);
  if (!compression.ok()) {
    return UsageError("--update-compression=", compression.status().message());
  }
  const auto conflict =
      federation::FindCompressionConflict(*compression, {.strategy = StrategyOf(flags),
                                                         .protection = ProtectionOf(run),
                                                         .robust = !flags.robust.empty(),
                                                         .buffered = flags.buffer_size > 0,
                                                         .bounds_norms = flags.max_update_norm > 0,
                                                         .has_parent = !parent.empty()});
  if (!conflict) return absl::OkStatus();
  const std::string with[] = {StrCat("--encryption=", run.encryption.kind),
                              "--dp-clip",
                              StrCat("--strategy=", flags.strategy),
                              StrCat("--robust=", flags.robust),
                              StrCat("--buffer-size=", flags.buffer_size),
                              StrCat("--max-update-norm=", flags.max_update_norm),
                              StrCat("--parent=", parent)};
  return UsageError("--update-compression=", flags.compression, ": not with ",
                    with[size_t(conflict->with)], ": ", conflict->why);
}

}  // namespace

absl::Status CheckRoundFlags(const RoundFlags& flags, const Options& run, const RoundSizes& sizes,
                             std::string_view parent) {
  const absl::Status select = federation::Criterion::Parse(flags.select).status();
  if (!select.ok()) return UsageError("--select: ", select.message());
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
  const absl::Status controls = federation::CheckControls(StrategyOf(flags), ProtectionOf(run),
                                                          !run.federation.local_parameters.empty());
  if (!controls.ok()) return UsageError("--strategy=", flags.strategy, ": ", controls.message());
  if (flags.max_update_norm > 0 && !encryption.empty()) {
    return UsageError("--max-update-norm: needs updates that the aggregator can read, and not ",
                      "with --encryption=", encryption);
  }
  if (flags.test_every > 0 && !run.federation.local_parameters.empty()) {
    return UsageError("--test-every=", flags.test_every,
                      ": not with --local-parameters=", run.federation.local_parameters,
                      ", with which there is no model of all clients");
  }
  if (flags.test_every > 0 && encryption == "tenseal") {
    return UsageError(
        "--test-every=", flags.test_every,
        ": not with --encryption=tenseal, with which only clients can read the model");
  }
  DTNN_RETURN_IF_ERROR(CheckBufferSize(flags, run));
  DTNN_RETURN_IF_ERROR(CheckUpdateCompression(flags, run, parent));
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
    if (robust->kind == federation::RobustKind::kTrimmed) StrAppend(&text, " on each side");
    if (rounded) StrAppend(&text, " (", exact, ", rounded down)");
  }
  if (sizes.least < least) {
    StrAppend(&text, left_out > 0 ? ", and " : "", "none of fewer than ", least,
              flags.buffer_size > 0 ? "; --buffer-size=" : "; --min-clients=", least,
              " asks for as many");
  }
  return {text};
}

}  // namespace dtnn
