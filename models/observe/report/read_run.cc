#include "models/observe/report/read_run.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/checkpoint/federation_tags.h"
#include "models/observe/report/read_history.h"
#include "models/serving/saved_model.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

bool IsHistoryName(const std::string& path) {
  const std::optional<HistoryForm> form = HistoryFormOf(path);
  return form == HistoryForm::kCsv || form == HistoryForm::kJsonLines;
}

// What decided the results of a run, one text each.
void AddMember(std::string_view name, std::string_view value, NamedTexts& texts) {
  texts.emplace_back(OneLine(name, 100), OneLine(value, 200));
}

NamedTexts SettingsOf(const CheckpointInfo& info) {
  const TrainingState& training = info.training;
  NamedTexts texts = {{"network", info.model}, {"optimizer", info.optimizer}};
  if (info.identity) {
    const RunIdentity& identity = *info.identity;
    texts.emplace_back("first learning rate", StrCat(identity.learning_rate));
    texts.emplace_back("data set", identity.data.dataset);
    texts.emplace_back("samples of its training split", StrCat(identity.data.samples));
    for (const IdentityMember& member : identity.members) {
      AddMember(member.what, member.value, texts);
    }
  }
  texts.emplace_back("batch of a rank", StrCat(training.sampler.batch));
  texts.emplace_back("ranks", StrCat(training.sampler.ranks));
  texts.emplace_back("seed", StrCat(training.random_seed));
  std::string done = Counted(training.epoch, "epoch");
  if (training.in_epoch()) StrAppend(&done, " and ", Counted(training.step_in_epoch, "step"));
  texts.emplace_back("done", std::move(done));
  return texts;
}

// Settings from the state of a federation, whose aggregator trains nothing itself.
NamedTexts SettingsOf(const CheckpointInfo& info, const std::string& strategy,
                      const std::string& protection) {
  return {{"network", info.model},
          {"strategy of the federation", strategy},
          {"protection of updates", protection},
          {"seed", StrCat(info.training.random_seed)},
          {"done", Counted(info.training.epoch, "round")}};
}

NamedTexts SettingsOf(const SavedModel& model) {
  const TrainingRecord& training = model.description.training;
  NamedTexts texts = {{"network", std::string(model.graph.name())},
                      {"optimizer", training.optimizer},
                      {"first learning rate", StrCat(training.learning_rate)},
                      {"data set", training.dataset}};
  for (const auto& [name, value] : training.identity) AddMember(name, value, texts);
  texts.emplace_back("done", Counted(training.epochs, "epoch"));
  return texts;
}

absl::Status AddHistory(const std::string& path, ComparedRun& run) {
  DTNN_ASSIGN_OR_RETURN(RunHistory history, ReadHistory(path));
  run.epochs = std::move(history.epochs);
  run.test = std::move(history.test);
  return absl::OkStatus();
}

// What a checkpoint or a saved model says of its run.
absl::Status AddArrayFile(const std::string& path, ComparedRun& run) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  const bool checkpoint = IsCheckpoint(file);
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> strategy, file.Text(kStrategyTag));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> protection, file.Text(kProtectionTag));
  const bool federation = strategy && protection;
  if (federation && !checkpoint) {
    return FailedPrecondition(path,
                              ": is a file beside the checkpoints of a federation; name their "
                              "folder, one of them, or the aggregator's history");
  }
  if (checkpoint) {
    DTNN_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(file));
    run.settings = federation ? SettingsOf(info, *strategy, *protection) : SettingsOf(info);
    if (federation && run.epochs.empty()) {
      run.settings.emplace_back("metrics",
                                "not in this state, but in the history that the aggregator writes");
    }
  }
  DTNN_ASSIGN_OR_RETURN(const bool holds_model, HoldsModel(file));
  if (!holds_model && !checkpoint) {
    return FailedPrecondition(path,
                              ": has weights, but does not say how they were trained; name a "
                              "history, a checkpoint or a saved model (inspect shows weights)");
  }
  if (!holds_model) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const SavedModel model, ReadModel(file));
  if (!checkpoint) run.settings = SettingsOf(model);
  const TrainingRecord& training = model.description.training;
  if (run.epochs.empty() && training.epochs > 0 && !training.metrics.empty()) {
    run.epochs.push_back({.epoch = training.epochs, .metrics = training.metrics});
    run.test = TakeTestMetrics(run.epochs[0].metrics);
  }
  return absl::OkStatus();
}

// The only history in a folder; nothing: it has none.
absl::StatusOr<std::optional<std::string>> FindHistory(const std::string& folder) {
  std::vector<std::string> histories;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path();
    std::error_code gone;
    if (IsHistoryName(name) && entry->is_regular_file(gone)) histories.push_back(name);
  }
  if (error) return absl::ErrnoToStatus(error.value(), StrCat(folder, ": cannot read the folder"));
  if (histories.size() > 1) {
    return InvalidArgument(folder, ": has ", histories.size(), " files that may be its history, ",
                           histories[0], " and ", histories[1], " among them; name one of them");
  }
  return histories.empty() ? std::nullopt : std::optional(histories[0]);
}

absl::Status AddFolder(const std::string& folder, const std::optional<std::string>& history,
                       ComparedRun& run) {
  if (history) DTNN_RETURN_IF_ERROR(AddHistory(*history, run));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> checkpoint,
                        CheckpointFolder(folder).NewestPath());
  if (checkpoint) return AddArrayFile(*checkpoint, run);
  if (history) return absl::OkStatus();
  return absl::NotFoundError(
      StrCat(folder,
             ": the folder has neither a history (.csv, .jsonl) nor a checkpoint "
             "(checkpoint-<steps>.npz)"));
}

}  // namespace

absl::StatusOr<ComparedRun> ReadRun(const std::string& path) {
  ComparedRun run = {.name = path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> history, FindHistory(path));
    DTNN_RETURN_IF_ERROR(AddFolder(path, history, run));
  } else if (path.ends_with(".npz") || path.ends_with(".safetensors")) {
    DTNN_RETURN_IF_ERROR(AddArrayFile(path, run));
  } else {
    DTNN_RETURN_IF_ERROR(AddHistory(path, run));
  }
  return run;
}

absl::StatusOr<ComparedRun> ReadRun(const std::string& folder, std::string_view history) {
  ComparedRun run = {.name = folder};
  const std::string path = fs::path(folder) / history;
  std::error_code error;
  const bool there = fs::exists(path, error);
  DTNN_RETURN_IF_ERROR(AddFolder(folder, there ? std::optional(path) : std::nullopt, run));
  return run;
}

}  // namespace dtnn
