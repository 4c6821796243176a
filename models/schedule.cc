#include "models/schedule.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

void AddFigures(const Averages& averages, const std::string& prefix, EpochFigures& figures) {
  const Figures& computed = averages.figures();
  figures.values[prefix + std::string(computed.loss->name())] = averages.Value(0);
  for (size_t i = 0; i < computed.metrics.size(); ++i) {
    figures.values[prefix + std::string(computed.metrics[i]->name())] = averages.Value(1 + i);
  }
}

}  // namespace

Schedule::Schedule(Trainer& trainer, ParameterStore& store, DeviceContext& context,
                   ScheduleOptions options)
    : trainer_(&trainer), store_(&store), context_(&context), options_(std::move(options)) {}

absl::Status Schedule::OnBatchBegin(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  const ScheduleStep step = {.step = pass.epoch * pass.steps + pass.step,
                             .steps_per_epoch = pass.steps,
                             .total_steps = pass.epochs * pass.steps};
  double factor = 1;
  for (const auto& scheduler : options_.schedulers) factor *= scheduler->Factor(step);
  trainer_->set_learning_rate_factor(factor);
  return absl::OkStatus();
}

absl::Status Schedule::OnEpochEnd(const Pass& training, const Pass* validation) {
  EpochFigures figures{.epoch = training.epoch + 1};
  AddFigures(*training.averages, "", figures);
  if (validation != nullptr) AddFigures(*validation->averages, "val_", figures);
  for (const auto& scheduler : options_.schedulers) {
    DTNN_RETURN_IF_ERROR(scheduler->OnEpochEnd(figures, *this));
  }
  return absl::OkStatus();
}

void Schedule::AddTo(TrainingState& state) const {
  for (const auto& scheduler : options_.schedulers) {
    state.schedulers[std::string(scheduler->name())] = scheduler->State();
  }
  state.files = files_;
}

absl::Status Schedule::Restore(const TrainingState& state,
                               const std::map<std::string, Tensor, std::less<>>& kept) {
  const auto names = [](const auto& list, auto name) {
    std::string text;
    for (const auto& item : list) absl::StrAppend(&text, text.empty() ? "" : ",", name(item));
    return text.empty() ? "none" : text;
  };
  bool same = state.schedulers.size() == options_.schedulers.size();
  for (const auto& scheduler : options_.schedulers) {
    same &= state.schedulers.contains(scheduler->name());
  }
  if (!same) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the run was begun with the schedulers ",
        names(state.schedulers, [](const auto& item) { return item.first; }), ", not ",
        names(options_.schedulers, [](const auto& item) { return std::string(item->name()); })));
  }
  for (const auto& [owner, values] : kept) {
    if (values.shape() == store_->all_values().shape() && values.dtype() == store_->dtype()) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the parameters that ", owner, " kept have shape ", values.shape().ToString(),
                     ", expected ", store_->all_values().shape().ToString()));
  }
  TrainingState before;
  AddTo(before);
  for (const auto& scheduler : options_.schedulers) {
    const absl::Status status =
        scheduler->Restore(state.schedulers.find(scheduler->name())->second);
    if (status.ok()) continue;
    // A state that a scheduler has given is one that it takes.
    for (const auto& restored : options_.schedulers) {
      restored->Restore(before.schedulers.find(restored->name())->second).IgnoreError();
    }
    return status;
  }
  kept_ = kept;
  files_ = state.files;
  return absl::OkStatus();
}

void Schedule::Say(std::string_view line) {
  if (options_.say) options_.say(line);
}

absl::Status Schedule::KeepParameters(std::string_view owner) {
  const Tensor& values = store_->all_values();
  auto found = kept_.find(owner);
  if (found == kept_.end()) {
    absl::StatusOr<Tensor> copy =
        Tensor::Allocate(context_->device(), values.dtype(), values.shape());
    if (!copy.ok()) {
      return absl::Status(copy.status().code(),
                          absl::StrCat(std::string(owner), ": no memory for the best parameters: ",
                                       std::string(copy.status().message())));
    }
    found = kept_.emplace(std::string(owner), *std::move(copy)).first;
  }
  return context_->Copy(values, found->second);
}

absl::Status Schedule::RestoreParameters(std::string_view owner) {
  const auto found = kept_.find(owner);
  if (found == kept_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(owner), " has kept no parameters to bring back"));
  }
  DTNN_RETURN_IF_ERROR(context_->Copy(found->second, store_->all_values()));
  store_->MarkChanged();
  return absl::OkStatus();
}

absl::StatusOr<std::string> Schedule::SaveParameters(std::string_view owner, int64_t epoch) {
  const auto found = kept_.find(owner);
  if (found == kept_.end() || !options_.save) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(owner), found == kept_.end() ? " has kept no parameters to save"
                                                 : " needs somewhere to save parameters"));
  }
  std::string& previous = files_[std::string(owner)];
  DTNN_ASSIGN_OR_RETURN(const std::string file,
                        options_.save(owner, epoch, found->second, previous));
  previous = std::filesystem::path(file).filename().string();
  return file;
}

}  // namespace dtnn
