#include "models/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_join.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/make_folder.h"
#include "tensor/named_argument.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "checkpoint-", kEnd = ".npz";

absl::Status Failed(std::string_view path, std::string_view what, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), StrCat(path, ": ", what));
}

// The steps of "checkpoint-<steps>.npz"; nothing for other names.
std::optional<int64_t> StepsOf(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(std::min(name.size(), kEnd.size()));
  return name.starts_with('-') ? std::nullopt : NumberIn<int64_t>(name);
}

// What atomic_file.h calls the file it is writing: ".checkpoint-<steps>.npz.<...>.tmp".
bool IsLeftover(std::string_view name) {
  return name.starts_with(".") && name.substr(1).starts_with(kBegin) && name.ends_with(".tmp");
}

// Calls `visit` with the name of every file in the folder.
absl::Status ForEachName(const std::string& folder, const std::function<void(std::string)>& visit) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    std::error_code gone;  // a file that vanished meanwhile is none
    if (entry->is_regular_file(gone)) visit(entry->path().filename());
    entry.increment(error);
  }
  return error ? Failed(folder, "cannot read the folder of checkpoints", error) : absl::OkStatus();
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string_view folder, int keep)
    : folder_(folder), keep_(std::max(keep, 1)) {}

std::string CheckpointFolder::PathOf(int64_t steps) const {
  return fs::path(folder_) / StrCat(kBegin, steps, kEnd);
}

absl::StatusOr<std::vector<CheckpointFolder::File>> CheckpointFolder::List() const {
  std::vector<File> files;
  DTNN_RETURN_IF_ERROR(ForEachName(folder_, [&](const std::string& name) {
    const std::optional<int64_t> steps = StepsOf(name);
    if (steps.has_value()) files.push_back({.steps = *steps, .path = fs::path(folder_) / name});
  }));
  std::ranges::sort(files, std::greater<>(),
                    [](const File& file) { return std::pair(file.steps, file.path); });
  return files;
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::Lock(bool goes_on) {
  if (std::exchange(locked_, true)) return std::vector<std::string>();
  absl::StatusOr<FolderLock> lock = FolderLock::Take(folder_);
  if (absl::IsUnimplemented(lock.status())) {
    return std::vector<std::string>{
        StrCat(lock.status().message(),
               "; make sure that no other run uses the same folder for its checkpoints")};
  }
  locked_ = lock.ok();
  if (absl::IsFailedPrecondition(lock.status()) && goes_on) {
    return std::vector<std::string>{
        StrCat(lock.status().message(),
               ", perhaps one that is frozen; this run continues without it "
               "and saves there all the same")};
  }
  if (absl::IsFailedPrecondition(lock.status())) {
    return FailedPrecondition(
        lock.status().message(),
        ", whose checkpoints this run would overwrite; end the other run, or choose "
        "another folder");
  }
  if (!lock.ok()) return lock.status();
  lock_ = std::make_shared<FolderLock>(*std::move(lock));
  return std::vector<std::string>();
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::Prepare(bool resume, bool goes_on) {
  DTNN_RETURN_IF_ERROR(
      MakeFolder(folder_, StrCat(folder_, ": cannot create the folder for checkpoints")));
  DTNN_RETURN_IF_ERROR(WithContext(AtomicFile::Create(PathOf(0)).status(), folder_,
                                   ": cannot write checkpoints there"));
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> warnings, Lock(goes_on));
  DTNN_ASSIGN_OR_RETURN(const std::vector<File> files, List());
  if (!resume && !files.empty()) {
    return NamingArgument(FailedPrecondition(files[0].path,
                                             ": is a checkpoint of an earlier run; continue it "
                                             "(Checkpointer::Resume), or choose another folder"),
                          "Checkpointer::Resume");
  }
  DTNN_RETURN_IF_ERROR(ForEachName(folder_, [&](const std::string& name) {
    const fs::path path = fs::path(folder_) / name;
    std::error_code ignored;  // it disturbs nobody but the disk
    // Another, which is frozen and holds the lock, may be in the middle of one of its own.
    if (IsLeftover(name) && (locked_ || IsAbandoned(path))) fs::remove(path, ignored);
  }));
  return warnings;
}

bool CheckpointFolder::HoldsAny() const {
  const absl::StatusOr<std::vector<File>> files = List();
  return files.ok() && std::ranges::any_of(*files, [](const File& file) {
           return ArrayFileReader::Open(file.path).ok();
         });
}

absl::StatusOr<std::optional<std::string>> CheckpointFolder::NewestPath() const {
  DTNN_ASSIGN_OR_RETURN(const std::vector<File> files, List());
  return files.empty() ? std::nullopt : std::optional(files[0].path);
}

absl::StatusOr<CheckpointFolder::Saved> CheckpointFolder::Save(const Graph& graph,
                                                               const ParameterStore& store,
                                                               DeviceContext& context,
                                                               const RunState& run) {
  const int64_t steps = run.training.steps_done;
  Saved saved;
  saved.path = PathOf(steps);
  DTNN_RETURN_IF_ERROR(SaveCheckpoint(saved.path, graph, store, context, run));
  // It is on the disk: only now may others go.
  const absl::StatusOr<std::vector<File>> files = List();
  if (!files.ok()) {
    saved.warnings.emplace_back(files.status().message());
    return saved;
  }
  int kept = 0;
  for (const File& file : *files) {
    if (file.steps > steps || kept++ < keep_) continue;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) {
      saved.warnings.push_back(
          StrCat(file.path, ": cannot delete this old checkpoint: ", error.message()));
    }
  }
  return saved;
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::SetAsideAfter(int64_t steps) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<File> files, List());
  std::vector<std::string> lines;
  for (const File& file : files) {
    if (file.steps <= steps) continue;
    const std::string plain = StrCat(file.path, ".given-up");
    std::string name = plain;
    std::error_code error;
    for (int i = 2; fs::exists(name, error); ++i) name = StrCat(plain, "-", i);
    fs::rename(file.path, name, error);
    if (error) {
      return Failed(file.path,
                    "cannot rename this checkpoint, which is newer than the one to resume from",
                    error);
    }
    lines.push_back(StrCat(
        file.path, ": is newer than the checkpoint that the run resumes from; renamed to ", name));
  }
  return lines;
}

absl::StatusOr<CheckpointFolder::Latest> CheckpointFolder::Newest(
    const Graph& graph, const ParameterStore& store, DeviceContext& context,
    std::string_view optimizer, int64_t most_steps, const ReadingRank& reader) const {
  DTNN_ASSIGN_OR_RETURN(std::vector<File> files, List());
  std::erase_if(files, [&](const File& file) { return file.steps > most_steps; });
  std::vector<std::string> damaged;
  for (const File& file : files) {
    absl::StatusOr<StagedCheckpoint> checkpoint =
        StagedCheckpoint::Open(file.path, graph, store, context, optimizer, reader);
    if (checkpoint.ok()) {
      for (std::string& reason : damaged) reason += "; trying the previous checkpoint";
      return Latest{.path = file.path,
                    .steps = file.steps,
                    .checkpoint = *std::move(checkpoint),
                    .warnings = std::move(damaged)};
    }
    const absl::Status& status = checkpoint.status();
    if (absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status)) return status;
    damaged.emplace_back(status.message());
  }
  if (files.empty()) {
    return NotFound(folder_, ": contains no checkpoint (looked for ", kBegin, "<steps>", kEnd, ")");
  }
  return DataLoss(folder_, ": none of ", files.size(),
                  " checkpoints can be loaded: ", absl::StrJoin(damaged, "; "),
                  "; to start again, choose another folder, or move these files away");
}

}  // namespace dtnn
