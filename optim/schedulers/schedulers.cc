#include "optim/schedulers/schedulers.h"

#include "optim/schedulers/cosine.h"
#include "optim/schedulers/early_stopping.h"
#include "optim/schedulers/model_checkpoint.h"
#include "optim/schedulers/one_cycle.h"
#include "optim/schedulers/polynomial.h"
#include "optim/schedulers/reduce_lr_every_nepochs.h"
#include "optim/schedulers/reduce_lr_on_plateau.h"
#include "optim/schedulers/stop_at_loss.h"
#include "optim/schedulers/warm_up.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

// Sets those constants of `options` that it has and that are given.
template <class Options>
Options With([[maybe_unused]] const SchedulerConstants& given) {
  Options options;
  [[maybe_unused]] const auto set = [](auto& field, const auto& value) {
    field = value.value_or(field);
  };
  if constexpr (requires { options.metric; }) {
    set(options.metric, given.metric);
    set(options.better, given.better);
  }
  if constexpr (requires { options.patience; }) set(options.patience, given.patience);
  if constexpr (requires { options.nepochs; }) set(options.nepochs, given.nepochs);
  if constexpr (requires { options.save_freq; }) set(options.save_freq, given.save_freq);
  if constexpr (requires { options.batches; }) set(options.batches, given.batches);
  if constexpr (requires { options.epochs; }) set(options.epochs, given.epochs);
  if constexpr (requires { options.factor; }) set(options.factor, given.factor);
  if constexpr (requires { options.min_lr; }) set(options.min_lr, given.min_lr);
  if constexpr (requires { options.threshold; }) set(options.threshold, given.threshold);
  if constexpr (requires { options.floor; }) set(options.floor, given.floor);
  if constexpr (requires { options.power; }) set(options.power, given.power);
  if constexpr (requires { options.min_delta; }) set(options.min_delta, given.min_delta);
  if constexpr (requires { options.restart_epochs; }) {
    set(options.restart_epochs, given.restart_epochs);
    set(options.restart_growth, given.restart_growth);
  }
  return options;
}

template <class S, class Options>
std::shared_ptr<Scheduler> Make(const SchedulerConstants& constants) {
  return std::make_shared<S>(With<Options>(constants));
}

constexpr struct {
  std::string_view name;
  std::shared_ptr<Scheduler> (*make)(const SchedulerConstants& constants);
} kSchedulers[] = {
    {"warm_up", Make<WarmUp, WarmUpOptions>},
    {"early_stopping", Make<EarlyStopping, EarlyStoppingOptions>},
    {"reduce_lr_on_plateau", Make<ReduceLrOnPlateau, ReduceLrOnPlateauOptions>},
    {"reduce_lr_every_nepochs", Make<ReduceLrEveryNepochs, ReduceLrEveryNepochsOptions>},
    {"model_checkpoint", Make<ModelCheckpoint, ModelCheckpointOptions>},
    {"stop_at_loss", Make<StopAtLoss, StopAtLossOptions>},
    {"cosine", Make<Cosine, CosineOptions>},
    {"polynomial", Make<Polynomial, PolynomialOptions>},
    {"one_cycle", Make<OneCycle, OneCycleOptions>},
};

}  // namespace

std::vector<std::string_view> SchedulerNames() { return NamesIn(kSchedulers); }

absl::StatusOr<std::shared_ptr<Scheduler>> MakeScheduler(std::string_view name,
                                                         const SchedulerConstants& constants) {
  DTNN_ASSIGN_OR_RETURN(const auto* entry, FindNamed(kSchedulers, "scheduler", name));
  return entry->make(constants);
}

}  // namespace dtnn
