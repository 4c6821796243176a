#include "apps/flags/validate.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "data/transforms/transform_list.h"
#include "models/callbacks/history_form.h"
#include "models/report/report_name.h"
#include "models/run/options/check_options.h"
#include "models/run/parts/follow_loss.h"
#include "models/trace/trace_form.h"
#include "optim/losses/better.h"
#include "optim/metrics/metrics.h"
#include "optim/optimizers/optimizers.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// --loss-func=categorical_accuracy,categorical_cross_entropy: the one loss is the loss, the rest
// are metrics.
absl::Status SplitLossFunction(Options& options) {
  if (!options.given.contains("loss-func")) return absl::OkStatus();
  std::vector<std::string> losses, metrics;
  for (const std::string_view item : SplitList(options.training.loss)) {
    const bool loss = item.ends_with("_cross_entropy") || item == "mse" || item == "mae";
    (loss ? losses : metrics).emplace_back(item);
  }
  if (losses.size() != 1) {
    return UsageError("--loss-func=", options.training.loss,
                      ": must name exactly one loss: categorical_cross_entropy, "
                      "binary_cross_entropy, mse or mae");
  }
  options.training.loss = losses[0];
  if (metrics.empty()) return absl::OkStatus();
  if (options.given.insert("metrics").second) {
    options.training.metrics = std::move(metrics);
    return absl::OkStatus();
  }
  for (std::string& metric : metrics) {
    if (!Contains(options.training.metrics, metric))
      options.training.metrics.push_back(std::move(metric));
  }
  return absl::OkStatus();
}

absl::Status CheckRequired(const Options& options) {
  // A file of a model says which network it is.
  const bool file_may_say = !options.network.weights.empty();
  if (options.network.name.empty() && !file_may_say) {
    return UsageError(
        "--model: missing; name a network, such as --model=simplecnn (--model=list shows all)");
  }
  if (options.data.name.empty() && !options.dry_run) {
    return UsageError(
        "--dataset: missing; name a data set, such as --dataset=mnist (--dataset=list shows all)");
  }
  const bool reads =
      options.data.name != "synthetic" && !options.data.synthetic.instead && !options.dry_run;
  const bool train = reads && ReadsTraining(options) && TrainPath(options).empty();
  const bool test = reads && ReadsTest(options) && TestPath(options).empty();
  if (train || test) {
    const std::string_view flag = !options.data.train_path.empty()  ? "--dataset-test-path"
                                  : !options.data.test_path.empty() ? "--dataset-train-path"
                                                                    : "--dataset-path";
    return UsageError(flag, ": missing; where are the files of --dataset=", options.data.name, "?");
  }
  return absl::OkStatus();
}

// Constants that are not given are the optimizer's own, so that the list of options says what a run
// does. Those that it does not have stay as they are.
void FollowOptimizer(Options& options) {
  const auto optimizer = MakeOptimizer(options.optimizer.name);
  if (!optimizer.ok()) return;  // refused where it is made
  const auto constants = (*optimizer)->constants();
  for (const auto& [flag, name, member] :
       {std::tuple("optimizer-momentum", "momentum", &OptimizerOptions::momentum),
        std::tuple("optimizer-decay", "decay", &OptimizerOptions::decay),
        std::tuple("optimizer-beta1", "beta1", &OptimizerOptions::beta1),
        std::tuple("optimizer-beta2", "beta2", &OptimizerOptions::beta2),
        std::tuple("optimizer-epsilon", "epsilon", &OptimizerOptions::epsilon),
        std::tuple("optimizer-rho", "rho", &OptimizerOptions::rho)}) {
    const auto own = constants.find(name);
    if (own != constants.end() && !options.given.contains(flag))
      options.optimizer.*member = own->second;
  }
}

// --augment with all parameters written out, so that a run's list of options says what it does.
absl::Status SpellTransforms(Options& options) {
  if (options.data.augment.transforms.empty()) return absl::OkStatus();
  const auto transforms = ParseTransforms(options.data.augment.transforms);
  const std::string flag =
      StrCat("--augment=", OneLine(options.data.augment.transforms, 200), ": ");
  if (!transforms.ok()) {
    return UsageError(flag, OneLine(std::string(transforms.status().message()), 500),
                      " (--augment=list explains them)");
  }
  for (const bool older : {options.data.augment.flip, options.data.augment.crop}) {
    if (!older) continue;
    return UsageError(flag, "cannot be used with --augment-flip or --augment-crop; write flip:",
                      FormatValue(options.data.augment.flip_probability),
                      " or crop:", options.data.augment.crop_size, ":",
                      FormatValue(options.data.augment.crop_probability), " into the list");
  }
  options.data.augment.transforms = absl::StrJoin(ToStrings(*transforms), ",");
  return absl::OkStatus();
}

absl::Status CheckHistoryFile(const Options& options) {
  if (HistoryFormOf(options.output.history)) return absl::OkStatus();
  return UsageError("--history-file=", OneLine(options.output.history, 80),
                    ": unknown ending; must be .csv or .jsonl, or .txt, .log, .dat or "
                    "none for columns of text");
}

absl::Status CheckTracing(const Options& options) {
  if (!options.output.report.empty() && !IsReportName(options.output.report)) {
    return UsageError("--report=", OneLine(options.output.report, 80),
                      ": unknown ending; must be .html or .htm");
  }
  const std::string& profile = options.output.profile;
  if (profile != "True" && profile != "False" && !ProfileFormOf(profile)) {
    return UsageError("--profile=", OneLine(profile, 80),
                      ": must be True, False or a file that ends in .json or .csv");
  }
  const std::string& output = options.output.trace;
  if (options.output.tracing && output.empty()) {
    return UsageError(
        "--tracing: needs --tracer-output=FILE, a name that ends in .json for ui.perfetto.dev, in "
        ".prv for Paraver, or in .csv for a table of sums");
  }
  if (output.empty()) return absl::OkStatus();
  if (!TraceFormOf(output)) {
    return UsageError(
        "--tracer-output=", OneLine(output, 80),
        ": unknown ending; must be .json for ui.perfetto.dev and chrome://tracing, .prv for "
        "Paraver, or .csv, .txt, .trc or none for a table of sums");
  }
  if (NamesRank(output) && TraceFormOf(output) != TraceForm::kSimple) {
    return UsageError("--tracer-output=", OneLine(output, 80),
                      ": such a file has all ranks; leave out {rank}, which is for .csv, .txt or "
                      "no ending");
  }
  if (!options.output.tracing && options.given.contains("tracing")) {
    return UsageError("--tracing=False and --tracer-output=", OneLine(output, 80),
                      ": contradict each other; give one of them");
  }
  return absl::OkStatus();
}

absl::Status CheckKeyFile(const Options& options, std::string_view who) {
  if (options.encryption.kind != "tenseal" || !options.encryption.key_file.empty()) {
    return absl::OkStatus();
  }
  return UsageError("--encryption-key-file: missing; --encryption=tenseal needs the key that all ",
                    who, " share (`openssl rand -hex 32` makes one)");
}

// Of ranks, which sum ciphertexts on CPUs.
absl::Status CheckEncryptedSums(const Options& options) {
  if (options.ranks.parallel != "data" || options.encryption.kind.empty()) return absl::OkStatus();
  const auto exclude = [&](std::string_view other, std::string_view why) {
    return UsageError("--encryption=", options.encryption.kind, " and --", other,
                      ": cannot be used together; ", why);
  };
  if (options.encryption.kind != "tenseal") {
    return exclude("parallel=data",
                   "it protects clients from each other in rounds of an aggregator, which ranks do "
                   "not have; use --parallel=federated, or --encryption=tenseal");
  }
  if (options.sync.mpi_sums == "True") {
    return exclude("use-mpi-buffers=True", "MPI cannot add ciphertexts; leave that option out");
  }
  constexpr std::string_view kOnCpus = "ciphertexts are added on CPUs, from the hosts' memory";
  if (options.device.nccl) return exclude("enable-nccl", kOnCpus);
  if (options.device.gpu) return exclude("enable-gpu", kOnCpus);
  if (options.network.dtype != "float32") {
    return exclude(StrCat("dtype=", options.network.dtype), "what is encrypted is float32");
  }
  if (options.sync.compression != "none") {
    return exclude(StrCat("gradient-compression=", options.sync.compression),
                   "ciphertexts are as long whatever they hold");
  }
  if (options.optimizer.name == "oktopk") {
    return exclude("optimizer=oktopk", "which gradients are the largest would be sent as it is");
  }
  if (options.sync.batch_norm) {
    return exclude("sync-batch-norm", "statistics of samples would be sent as they are");
  }
  if (!options.ranks.elastic.empty()) {
    return exclude("elastic", "ranks that come are given the model as it is");
  }
  return CheckKeyFile(options, "ranks");
}

absl::Status CheckFederation(const Options& options) {
  const bool federated = options.ranks.parallel == "federated";
  const auto exclude = [](std::string_view one, std::string_view other, std::string_view why) {
    return UsageError("--", one, " and --", other, ": cannot be used together; ", why);
  };
  if (!federated) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(CheckKeyFile(options, "clients"));
  constexpr std::string_view kParallel = "parallel=federated";
  if (options.device.gpu) {
    return exclude(kParallel, "enable-gpu", "clients train on CPUs in this version");
  }
  if (options.ranks.transport == "mpi") {
    return exclude(kParallel, "transport=mpi", "clients come by tcp, grpc or mqtt");
  }
  if (options.network.dtype != "float32") {
    return exclude(kParallel, "dtype=float64", "what clients send is float32");
  }
  if (!options.checkpoint.folder.empty()) {
    return exclude(kParallel, "checkpoint-dir", "the aggregator saves every round");
  }
  if (options.training.evaluate_only) {
    return exclude(kParallel, "evaluate-only", "a client of a federation trains");
  }
  if (!options.network.weights.empty()) {
    return exclude(kParallel, "weights-and-bias-filename",
                   "the aggregator says what training begins with");
  }
  return absl::OkStatus();
}

// What ranks exchange in other forms than gradients as they are.
absl::Status CheckExchange(const Options& options) {
  const auto exclude = [](std::string_view one, std::string_view other, std::string_view why) {
    return UsageError("--", one, " and --", other, ": cannot be used together; ", why);
  };
  const bool halves = options.sync.compression != "none";
  const std::string compression = StrCat("gradient-compression=", options.sync.compression);
  if (halves && options.device.nccl) {
    return exclude(compression, "enable-nccl", "NCCL sums gradients as they are, on the GPUs");
  }
  if (options.optimizer.name != "oktopk") return absl::OkStatus();
  constexpr std::string_view kOktopk = "optimizer=oktopk";
  if (halves) return exclude(kOktopk, compression, "oktopk has a form of its own for gradients");
  if (options.device.gpu) return exclude(kOktopk, "enable-gpu", "oktopk runs on CPUs");
  if (options.network.dtype != "float32") {
    return exclude(kOktopk, StrCat("dtype=", options.network.dtype), "oktopk sends float32");
  }
  if (options.ranks.parallel == "federated") {
    return exclude(kOktopk, "parallel=federated", "clients of a federation send models");
  }
  if (options.sync.model_steps != 0 || !options.ranks.shared_storage) {
    return UsageError(
        "--optimizer=oktopk: needs --model-sync-freq=0 and --shared-storage=True, so that all "
        "ranks take every step together");
  }
  return absl::OkStatus();
}

absl::Status CheckMathMode(const Options& options) {
  const std::string_view mode = options.device.math_mode;
  if (mode == "fp32") return absl::OkStatus();
  if (!options.device.gpu && mode != "bf16") {
    return UsageError("--math-mode=", mode,
                      ": CPUs compute with fp32 or bf16; other modes need --enable-gpu");
  }
  if (options.network.dtype == "float32") return absl::OkStatus();
  return UsageError("--math-mode=", mode, " and --dtype=", options.network.dtype,
                    ": cannot be used together; parameters are float32 in this mode");
}

}  // namespace

absl::Status CheckElasticTransport(Transport transport) {
  if (transport == Transport::kTcp) return absl::OkStatus();
  const std::string_view why =
      transport == Transport::kMpi
          ? "MPI ends all ranks with the first that is lost"
          : "the server or broker of the others knows the ranks of the start, and takes no others";
  return UsageError("--elastic: needs --transport=tcp, not ", Name(transport), ": ", why,
                    ". Without --elastic, and with --checkpoint-dir, the ranks that are left save "
                    "a checkpoint and end with exit code 75, from which --resume continues");
}

namespace {

absl::Status CheckElastic(const Options& options) {
  if (options.ranks.elastic.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range, OfFlag(ElasticRange::Parse(options.ranks.elastic),
                                                         "--elastic=", options.ranks.elastic));
  if (options.ranks.parallel != "data") return absl::OkStatus();  // has no effect
  if (options.ranks.transport != "auto" && options.ranks.transport != "tcp") {
    return CheckElasticTransport(TransportOf(options.ranks.transport));
  }
  if (!options.ranks.shared_storage || options.sync.model_steps != 0) {
    return UsageError(
        "--elastic: needs --shared-storage=True and --model-sync-freq=0; a rank that has data or a "
        "model of its own takes them with it when it is lost");
  }
  if (options.device.nccl) {
    return UsageError(
        "--elastic and --enable-nccl: cannot be used together; NCCL waits for ranks "
        "that are lost. Without it gradients are summed in the hosts' memory");
  }
  if (options.optimizer.name == "oktopk") {
    return UsageError(
        "--elastic and --optimizer=oktopk: cannot be used together; what a rank has not sent yet "
        "of its gradients would be lost with it");
  }
  if (options.training.steps_per_epoch > 0 && !options.training.global_batch) {
    return UsageError(
        "--elastic and --steps-per-epoch: need --global-batch-size; with --batch-size, which "
        "samples an epoch has would depend on the number of ranks");
  }
  for (int ranks = range.min; options.training.global_batch && ranks <= range.max; ++ranks) {
    if (*options.training.global_batch % ranks == 0) continue;
    return UsageError("--global-batch-size=", *options.training.global_batch,
                      ": must be a multiple of every number of ranks from ", range.min, " to ",
                      range.max, " (--elastic=", options.ranks.elastic, "), but is not of ", ranks);
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const Options& options) {
  const auto exclude = [](std::string_view one, std::string_view other) {
    return UsageError("--", one, " and --", other, ": cannot be used together; give one of them");
  };
  if (options.data.normalize && options.data.standardize)
    return exclude("normalize", "standardize");
  if (options.output.quiet && options.output.verbose != "False") return exclude("quiet", "verbose");
  if (Contains(options.schedule.schedulers, "cosine") &&
      Contains(options.schedule.schedulers, "one_cycle")) {
    return UsageError(
        "--schedulers: cosine and one_cycle both set the rate of the whole run; give one of "
        "them");
  }
  if (options.convolution.best_of && options.convolution.variant != "auto") {
    return UsageError("--conv-variant=", options.convolution.variant,
                      " and --enable-best-of: cannot be used together; name the algorithm, or let "
                      "it be found by timing");
  }
  if (options.device.gpudirect && options.device.gpu && options.ranks.parallel == "data") {
    return UsageError(
        "--enable-gpudirect: gradients go to MPI through pinned memory of the host, whatever MPI "
        "could read; leave it out, or let the GPUs sum them with --enable-nccl");
  }
  if (options.convolution.variant != "auto" && options.device.gpu) {
    return UsageError(
        "--conv-variant and --enable-gpu: cannot be used together; the variants are "
        "algorithms of the CPU, on GPUs cuDNN has its own");
  }
  for (const std::string& path :
       {options.data.path, options.data.train_path, options.data.test_path}) {
    if (options.ranks.parallel == "data" && options.ranks.shared_storage &&
        path.find("$rank") != path.npos) {
      return UsageError(
          path, ": $rank means that each rank has its own data; add --shared-storage=False");
    }
  }
  DTNN_RETURN_IF_ERROR(CheckFederation(options));
  DTNN_RETURN_IF_ERROR(CheckEncryptedSums(options));
  DTNN_RETURN_IF_ERROR(CheckExchange(options));
  DTNN_RETURN_IF_ERROR(CheckMathMode(options));
  DTNN_RETURN_IF_ERROR(CheckElastic(options));
  if (Resumes(options) && !options.network.weights.empty()) {
    return exclude("resume", "weights-and-bias-filename");
  }
  if (!options.checkpoint.folder.empty() && options.training.evaluate_only) {
    return exclude("checkpoint-dir", "evaluate-only");
  }
  if (options.sync.batch_norm && (options.sync.model_steps != 0 || !options.ranks.shared_storage)) {
    return UsageError(
        "--sync-batch-norm: needs --model-sync-freq=0 and --shared-storage=True, so that all ranks "
        "take every step together");
  }
  return absl::OkStatus();
}

// The options that have none, by reason.
std::vector<std::string> WithoutEffect(const Options& options) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const OptionSpec& spec : OptionTable()) {
    if (!options.given.contains(spec.name) || IsOffAnyway(spec, options)) continue;
    for (const std::string& reason : UnmetNeeds(spec, options)) {
      auto known =
          std::ranges::find(reasons, reason, [](const auto& entry) { return entry.first; });
      if (known == reasons.end()) known = reasons.insert(known, {reason, {}});
      known->second.push_back(StrCat("--", spec.name));
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : reasons) {
    lines.push_back(StrCat(absl::StrJoin(names, ", "), names.size() == 1 ? " has" : " have",
                           " no effect ", reason));
  }
  return lines;
}

void Warn(const Options& options, std::vector<std::string>& warnings) {
  const GivenOptions& given = options.given;
  if (options.training.evaluate_only && options.network.weights.empty()) {
    warnings.push_back(
        "--evaluate-only: tests a network with random weights; load trained ones with "
        "--weights-and-bias-filename");
  }
  for (std::string& warning : WithoutEffect(options)) warnings.push_back(std::move(warning));
  if (options.data.share >= 5) {  // who wants all data so often gives more epochs
    const std::string share = FormatValue(options.data.share);
    warnings.push_back(StrCat("--dataset-percentage=", share,
                              ": is a share, not per cent; uses all data ", share,
                              " times in each epoch"));
  }
  if (Contains(options.schedule.schedulers, "stop_at_loss") &&
      !given.contains("stop-at-loss-threshold")) {
    warnings.push_back(
        "--schedulers: stop_at_loss without --stop-at-loss-threshold ends a run that watches an "
        "accuracy after its first epoch");
  }
  if (options.encryption.security_level == "0" && !options.encryption.kind.empty()) {
    warnings.push_back(
        "--encryption-security-level=0: nobody checks that --encryption-poly-degree and "
        "--encryption-global-scale protect anything; for experiments only");
  }
  const bool smaller = BetterWatched(options.schedule.early_stopping.metric) == Better::kSmaller;
  if (Contains(options.schedule.schedulers, "early_stopping") &&
      options.schedule.early_stopping.minimize != smaller) {
    warnings.push_back(StrCat(
        "--early-stopping-minimize=", options.schedule.early_stopping.minimize ? "True" : "False",
        ": but ", smaller ? "smaller" : "larger", " values of ",
        options.schedule.early_stopping.metric, " are better"));
  }
}

}  // namespace

absl::Status ValidateOptions(Options& options, std::vector<std::string>& warnings) {
  DTNN_RETURN_IF_ERROR(SplitLossFunction(options));
  FollowLoss(options);
  FollowOptimizer(options);
  DTNN_RETURN_IF_ERROR(CheckRunOptions(options));
  DTNN_RETURN_IF_ERROR(CheckTogether(options));
  DTNN_RETURN_IF_ERROR(CheckRequired(options));
  DTNN_RETURN_IF_ERROR(CheckHistoryFile(options));
  DTNN_RETURN_IF_ERROR(CheckTracing(options));
  DTNN_RETURN_IF_ERROR(SpellTransforms(options));
  Warn(options, warnings);
  return absl::OkStatus();
}

}  // namespace dtnn
