#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "comm/federation/client/ask_classes.h"
#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "data/check_labels.h"
#include "data/datasets/more_classes.h"
#include "kernels/libraries/kept_plans.h"
#include "models/callbacks/history.h"
#include "models/run/checks/check_constants.h"
#include "models/run/checks/check_options.h"
#include "models/run/checks/option_warnings.h"
#include "models/run/federated/fit_classes.h"
#include "models/run/observe/run_board.h"
#include "models/run/observe/run_page.h"
#include "models/run/observe/run_trace.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/best_of_file.h"
#include "models/run/parts/make_device.h"
#include "models/run/parts/make_encryption.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/prepare/prepare_steps.h"
#include "models/run/prepare/prepared_run.h"
#include "models/run/prepare/tune_run.h"
#include "models/run/samples/make_dataset.h"
#include "models/training/ranks/same_data.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// A run that must resume, and has nothing to resume from, makes no folder.
absl::Status CheckFolderToResumeFrom(const PreparedRun& run) {
  const std::string& folder = run.options.checkpoint.folder;
  if (run.options.checkpoint.resume != Resume::kYes || run.goes_on) return absl::OkStatus();
  std::error_code error;
  if (std::filesystem::status(folder, error).type() != std::filesystem::file_type::not_found) {
    return absl::OkStatus();
  }
  return NotFound("RunOptions::checkpoint.resume: ", folder,
                  " does not exist; RunOptions::checkpoint.resume=if-there starts a new run then");
}

// What the run will write to must take it: a run of hours must not find out at its end.
absl::Status PrepareOutput(PreparedRun& run, RunLog& log) {
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckModelFile(run.options.output.model));
  DTNN_RETURN_IF_ERROR(CheckTraceFiles(run.options, run.rank));
  if (run.rank == 0 && TunesRun(run)) DTNN_RETURN_IF_ERROR(CheckBestOfFile(run.options));
  if (run.options.training.evaluate_only) return absl::OkStatus();
  if (run.WritesCheckpoints()) DTNN_RETURN_IF_ERROR(CheckFolderToResumeFrom(run));
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckReportFile(run.options));
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckBoard(run.options));
  if (run.Writes()) DTNN_RETURN_IF_ERROR(MakeModelFolder(run.options.schedule.model_folder));
  if (run.Writes() && !run.options.output.history.empty()) {
    DTNN_RETURN_IF_ERROR(
        WithContext(History::Check(run.options.output.history, run.options.training.loss),
                    "RunOptions::output.history"));
  }
  if (run.options.checkpoint.folder.empty() || !run.WritesCheckpoints()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<std::string> warnings,
      WithContext(run.checkpoint_folder.Prepare(Resumes(run.options) || run.goes_on, run.goes_on),
                  "RunOptions::checkpoint.folder"));
  for (const std::string& warning : warnings) log.WarnOfCheckpoint(warning);
  return absl::OkStatus();
}

// The folder of device.cudnn_plans; null without it.
absl::StatusOr<std::shared_ptr<const KeptPlans>> OpenPlans(const PreparedRun& run, RunLog& log) {
  if (run.options.device.cudnn_plans.empty() || !MakesPlans(run.options)) return nullptr;
  constexpr std::string_view kOption = "RunOptions::device.cudnn_plans";
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<KeptPlans> plans,
                        WithContext(KeptPlans::Open(run.options.device.cudnn_plans,
                                                    [&log, kOption](std::string_view line) {
                                                      log.Warn(StrCat(kOption, ": ", line));
                                                    }),
                                    kOption));
  return plans;
}

// The outputs of a network that was trained before have their meaning: the data's labels follow the
// names of its classes. A network of network.name that trains on learns another meaning, with a
// warning.
absl::Status FollowClasses(PreparedRun& run, RunLog& log) {
  const std::string& path = run.options.network.weights;
  if (path.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const std::optional<ModelDescription> trained, FindDescription(file));
  if (!trained) return absl::OkStatus();
  const bool of_file = run.initial_model.has_value();
  if (!of_file && !trained->loss.empty() && trained->loss != LossOf(run.options)) {
    log.Warn(StrCat(path, ": was trained with loss ", OneLine(trained->loss, 80),
                    "; this run has RunOptions::training.loss=", LossOf(run.options)));
  }
  const bool learns = !of_file && !run.options.training.evaluate_only;
  // A network of another size takes other parameters for its outputs.
  if (learns && int64_t(trained->class_names.size()) != run.dataset->outputs()) {
    return absl::OkStatus();
  }
  auto named = WithContext(WithClassNames(run.dataset, trained->class_names), path);
  if (!named.ok() && learns) {
    log.Warn(StrCat(named.status().message(), "; its outputs get another meaning"));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(run.dataset, std::move(named));
  return absl::OkStatus();
}

}  // namespace

absl::Status FindModel(PreparedRun& run) {
  if (!run.options.network.name.empty() || run.objects.network) return absl::OkStatus();
  if (run.options.network.weights.empty()) {
    return UsageError(
        "RunOptions::network.name: missing; name a network, or the file of one in "
        "RunOptions::network.weights");
  }
  DTNN_ASSIGN_OR_RETURN(run.initial_model,
                        WithContext(ReadModelToRun(run.options.network.weights), kWeightsOption));
  return FollowModel(*run.initial_model, run.options);
}

absl::Status CheckStart(const RunOptions& options, const RunObjects& objects, int ranks) {
  DTNN_RETURN_IF_ERROR(CheckRunOptions(options));
  DTNN_RETURN_IF_ERROR(
      CheckConstants(options, objects.optimizer.get(), !objects.schedulers.empty()));
  if (ranks == 0 && options.ranks.parallel == Parallel::kData) {
    return UsageError(
        "RunOptions::ranks.parallel=data: needs ranks, and this process was started alone; start "
        "several with mpirun -n 2 or launch -n 2 (a program of your own joins them by RunAsRank), "
        "or leave this option out");
  }
  if (ranks > 1 && options.ranks.parallel != Parallel::kData) {
    return UsageError("RunOptions::ranks.parallel=", WordFor(options.ranks.parallel), ": ", ranks,
                      " ranks share a communicator, which needs RunOptions::ranks.parallel=data");
  }
  if (!options.training.class_weights.empty() && objects.loss != nullptr) {
    return UsageError(
        "RunOptions::training.class_weights: cannot be used together with a loss object; give the "
        "object its weights");
  }
  if (options.sync.min_available > std::max(ranks, 1)) {
    return UsageError("RunOptions::sync.min_available=", options.sync.min_available,
                      ": must be at most the number of ranks, ", std::max(ranks, 1));
  }
  return absl::OkStatus();
}

absl::Status LoadData(PreparedRun& run, RunLog& log) {
  DTNN_RETURN_IF_ERROR(
      CheckStart(run.options, run.objects, run.communicator == nullptr ? 0 : run.ranks));
  if (run.options.data.name.empty() && run.dataset == nullptr) {
    return UsageError("RunOptions::data.name: missing; name a data set");
  }
  if (!run.goes_on) {
    for (const std::string& warning :
         OptionWarnings(run.options, !run.objects.schedulers.empty())) {
      log.Warn(warning);
    }
  }
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const KeptPlans> plans, OpenPlans(run, log));
  DTNN_ASSIGN_OR_RETURN(run.context, MakeDevice(run.options, PlaceOf(run)));
  run.context->KeepPlans(std::move(plans));
  run.optimizer = run.objects.optimizer;
  if (run.optimizer == nullptr) {
    DTNN_ASSIGN_OR_RETURN(run.optimizer, MakeOptimizer(run.options));
  } else if (const auto constants = ConstantsFrom(run.optimizer->constants()); constants.ok()) {
    SetConstants(*constants, run.options.optimizer);
  }
  if (run.options.ranks.parallel == Parallel::kFederated) {
    run.proximal = std::make_shared<ProximalOptimizer>(run.optimizer);
    run.optimizer = run.proximal;
    DTNN_ASSIGN_OR_RETURN(run.client, FindClientPlace(run.options));
    if (!run.client->meeting.warning.empty()) log.Warn(run.client->meeting.warning);
  }
  if (EncryptsSums(run.options) && run.ranks == 1) {
    log.Warn("RunOptions::encryption.kind has no effect with one rank, which sends nothing");
  } else if (EncryptsSums(run.options)) {
    DTNN_ASSIGN_OR_RETURN(run.encryption_key, ReadKeyOfRanks(run.options));
  }
  DTNN_RETURN_IF_ERROR(PrepareOutput(run, log));
  if (!run.options.network.weights.empty()) {  // before the data are read
    DTNN_RETURN_IF_ERROR(
        WithContext(ArrayFileReader::Open(run.options.network.weights).status(), kWeightsOption));
  }
  DTNN_RETURN_IF_ERROR(FindModel(run));
  const bool loads = run.dataset == nullptr;
  if (loads) {
    log.Log(StrCat("**** Loading ", run.options.data.name, " dataset...\n"));
    DTNN_ASSIGN_OR_RETURN(run.dataset, MakeDataset(run.options, SampleOf(run.initial_model)));
  }
  if (loads || run.objects.dataset != nullptr) {  // else the generation before did this
    for (const Split split : {Split::kTrain, Split::kTest}) {
      DTNN_RETURN_IF_ERROR(CheckLabels(*run.dataset, split));
    }
    for (const std::string& warning : run.dataset->warnings()) log.Warn(warning);
    DTNN_RETURN_IF_ERROR(FollowClasses(run, log));
  }
  const bool shared = run.communicator != nullptr && run.options.ranks.shared_storage;
  if (!shared && (run.options.checkpoint.folder.empty() || run.client)) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(run.train_data, Fingerprint(*run.dataset, Split::kTrain));
  DTNN_ASSIGN_OR_RETURN(run.test_data, Fingerprint(*run.dataset, Split::kTest));
  return absl::OkStatus();
}

namespace {

// A client of a federation: its own data may lack classes that the network has.
absl::Status FollowAggregator(PreparedRun& run, RunLog& log) {
  DTNN_ASSIGN_OR_RETURN(
      const federation::Classes classes,
      federation::AskClasses(
          {.place = run.client->meeting.place,
           .identity = run.client->identity,
           .timeout = std::chrono::milliseconds(int64_t(1000 * run.options.ranks.timeout)),
           .warn = [&log](std::string_view line) { log.Warn(line); },
           .interrupted = [] { return Interrupt::Last() != 0; }},
          run.client->meeting.secret));
  DTNN_ASSIGN_OR_RETURN(run.dataset, FitClasses(run.dataset, classes));
  return absl::OkStatus();
}

}  // namespace

absl::Status CompareWithOthers(PreparedRun& run, RunLog& log) {
  if (run.client) return FollowAggregator(run, log);
  if (run.communicator == nullptr) return absl::OkStatus();
  if (!run.options.ranks.shared_storage) {
    DTNN_ASSIGN_OR_RETURN(run.dataset, AgreeOnClasses(*run.communicator, run.dataset));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> dates,
                        GatherValues(*run.communicator, run.date));
  run.date = dates[0];
  return CompareData(*run.communicator, {run.train_data, run.test_data});
}

}  // namespace dtnn
