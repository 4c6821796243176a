#include "models/callbacks/schedule.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {

Schedule::Schedule(Trainer& trainer, ParameterStore& store, DeviceContext& context,
                   ScheduleOptions options)
    : trainer_(&trainer), store_(&store), context_(&context), options_(std::move(options)) {
  std::map<std::string_view, int> of_name;
  for (const auto& scheduler : options_.schedulers) {
    const int number = ++of_name[scheduler->name()];
    owners_.push_back(StrCat(scheduler->name(), number == 1 ? "" : StrCat("-", number)));
  }
}

absl::Status Schedule::OnBatchBegin(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining) return absl::OkStatus();
  const int64_t first = options_.first_epoch;
  const ScheduleStep step = {.step = (pass.epoch - first) * pass.steps + pass.step,
                             .steps_per_epoch = pass.steps,
                             .total_steps = (pass.epochs - first) * pass.steps};
  trainer_->set_learning_rate_factor(FactorIn(step));
  return absl::OkStatus();
}

double Schedule::FactorIn(const ScheduleStep& step) const {
  double factor = 1;
  for (const auto& scheduler : options_.schedulers) factor *= scheduler->Factor(step);
  return factor;
}

absl::Status Schedule::OnEpochEnd(const Pass& training, const Pass* validation) {
  EpochMetrics metrics{.epoch = training.epoch + 1};
  now_ = {.epoch = metrics.epoch, .metrics = MetricsOf(training, validation)};
  for (const auto& [name, value] : now_.metrics) metrics.values[name] = value;
  restoring_.clear();
  restored_.reset();
  ends_ = metrics.epoch == training.epochs;
  for (size_t i = 0; i < owners_.size(); ++i) {
    acting_ = owners_[i];
    DTNN_RETURN_IF_ERROR(options_.schedulers[i]->OnEpochEnd(metrics, *this));
  }
  for (size_t i = 0; ends_ && i < owners_.size(); ++i) {
    acting_ = owners_[i];
    DTNN_RETURN_IF_ERROR(options_.schedulers[i]->OnTrainEnd(*this));
  }
  return restoring_.empty() ? absl::OkStatus() : BringBack(restoring_);
}

absl::Status Schedule::EndRun(int64_t epochs) {
  restoring_.clear();
  for (size_t i = 0; i < owners_.size(); ++i) {
    acting_ = owners_[i];
    DTNN_RETURN_IF_ERROR(options_.schedulers[i]->OnRunEnd(epochs, *this));
  }
  return restoring_.empty() ? absl::OkStatus() : BringBack(restoring_);
}

void Schedule::AddTo(TrainingState& state) const {
  for (size_t i = 0; i < owners_.size(); ++i) {
    state.schedulers[owners_[i]] = options_.schedulers[i]->State();
  }
  state.files = files_;
  state.kept_epochs = kept_epochs_;
  state.ended &= trainer_->ended() || ends_;
}

absl::StatusOr<std::vector<std::string>> Schedule::Restore(
    const TrainingState& state, const std::map<std::string, Tensor, std::less<>>& kept,
    const ForgetfulSchedulers& forgetful) {
  const auto names = [](const auto& list, auto name) {
    std::string text;
    for (const auto& item : list) StrAppend(&text, text.empty() ? "" : ",", name(item));
    return text.empty() ? "none" : text;
  };
  bool same = state.schedulers.size() == owners_.size();
  for (const std::string& owner : owners_) same &= state.schedulers.contains(owner);
  if (!same) {
    return InvalidArgument("the run was started with the schedulers ",
                           names(state.schedulers, [](const auto& item) { return item.first; }),
                           ", not ", names(owners_, [](const auto& item) { return item; }));
  }
  for (const auto& [owner, values] : kept) {
    if (values.shape() == store_->all_values().shape() && values.dtype() == store_->dtype()) {
      continue;
    }
    return InvalidArgument("the parameters that ", owner, " kept have shape ",
                           values.shape().ToString(), ", expected ",
                           store_->all_values().shape().ToString());
  }
  std::vector<std::string> forgotten;
  for (size_t i = 0; i < owners_.size(); ++i) {
    const std::string_view watched = options_.schedulers[i]->watched();
    if (watched.empty()) continue;
    const bool of_training = !watched.starts_with("val_");
    if (forgetful.all || (forgetful.training && of_training) ||
        forgetful.owners.contains(owners_[i])) {
      forgotten.push_back(owners_[i]);
    }
  }
  const auto forgets = [&](const std::string& owner) {
    return std::ranges::count(forgotten, owner) > 0;
  };
  TrainingState before;
  AddTo(before);
  const auto restore = [&](size_t i, const TrainingState& from) {
    return options_.schedulers[i]->Restore(from.schedulers.find(owners_[i])->second);
  };
  for (size_t i = 0; i < owners_.size(); ++i) {
    const absl::Status status = restore(i, state);
    if (status.ok() && forgets(owners_[i])) restore(i, before).IgnoreError();
    if (status.ok()) continue;
    // A state that a scheduler has given is one that it takes.
    for (size_t back = 0; back <= i; ++back) restore(back, before).IgnoreError();
    return status;
  }
  kept_ = kept;
  files_ = state.files;
  kept_epochs_ = state.kept_epochs;
  for (const std::string& owner : forgotten) {
    kept_.erase(owner);
    files_.erase(owner);  // the file stays: nothing is known to be better
    kept_epochs_.erase(owner);
  }
  return forgotten;
}

void Schedule::Stop() {
  ends_ = true;
  trainer_->Stop();
}

void Schedule::Say(std::string_view line) {
  if (options_.say) options_.say(line);
}

absl::Status Schedule::KeepParameters() {
  const Tensor& values = store_->all_values();
  auto found = kept_.find(acting_);
  if (found == kept_.end()) {
    DTNN_ASSIGN_OR_RETURN(
        Tensor copy,
        WithContext(Tensor::Allocate(context_->device(), values.dtype(), values.shape()), acting_,
                    ": not enough memory for the best parameters"));
    found = kept_.emplace(acting_, std::move(copy)).first;
  }
  kept_epochs_[acting_] = now_;
  return context_->Copy(values, found->second);
}

absl::Status Schedule::RestoreParameters(int64_t epoch) {
  if (!kept_.contains(acting_)) {
    return FailedPrecondition(acting_, " has kept no parameters to restore");
  }
  if (!restoring_.empty()) return absl::OkStatus();
  restoring_ = acting_;
  restored_ = KeptEpoch(epoch);
  return absl::OkStatus();
}

// The acting scheduler's. Of a state of an older version nothing but the number is known.
EpochRecord Schedule::KeptEpoch(int64_t epoch) const {
  const auto found = kept_epochs_.find(acting_);
  const bool known = found != kept_epochs_.end() && found->second.epoch == epoch;
  return known ? found->second : EpochRecord{.epoch = epoch};
}

absl::Status Schedule::BringBack(const std::string& owner) {
  DTNN_RETURN_IF_ERROR(context_->Copy(kept_.find(owner)->second, store_->all_values()));
  store_->MarkChanged();
  return absl::OkStatus();
}

absl::StatusOr<std::string> Schedule::SaveParameters(int64_t epoch) {
  const auto found = kept_.find(acting_);
  if (found == kept_.end() || !options_.save) {
    return FailedPrecondition(acting_, found == kept_.end() ? " has kept no parameters to save"
                                                            : " needs a place to save parameters");
  }
  std::string& mine = files_[acting_];
  const bool shared = std::ranges::any_of(
      files_, [&](const auto& file) { return file.first != acting_ && file.second == mine; });
  DTNN_ASSIGN_OR_RETURN(const std::string file, options_.save(acting_, KeptEpoch(epoch),
                                                              found->second, shared ? "" : mine));
  mine = std::filesystem::path(file).filename().string();
  return file;
}

}  // namespace dtnn
