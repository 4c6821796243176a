// What changes the learning rate, ends a run early and keeps its best model (optim/schedulers).
// A metric that is empty is the loss of the validation samples (in_force.h).

#ifndef DTNN_MODELS_RUN_OPTIONS_SCHEDULER_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_SCHEDULER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "models/run/options/option_names.h"

namespace dtnn {

struct SchedulerOptions {
  struct WarmUp {
    std::optional<int64_t> batches = {};
    int64_t epochs = 5;
    friend bool operator==(const WarmUp&, const WarmUp&) = default;
  };
  struct EarlyStopping {
    std::string metric = {};
    int64_t patience = 10;
    std::optional<bool> minimize = {};  // not set: as the metric says
    double min_delta = 0;
    friend bool operator==(const EarlyStopping&, const EarlyStopping&) = default;
  };
  struct ReduceOnPlateau {
    std::string metric = {};
    double factor = 0.1;
    int64_t patience = 5;
    double min_rate = 0;
    friend bool operator==(const ReduceOnPlateau&, const ReduceOnPlateau&) = default;
  };
  struct ReduceEvery {
    double factor = 0.1;
    int64_t epochs = 5;
    double min_rate = 0;
    friend bool operator==(const ReduceEvery&, const ReduceEvery&) = default;
  };
  struct StopAt {
    std::string metric = {};               // empty: the accuracy
    std::optional<double> threshold = {};  // not set: 0
    friend bool operator==(const StopAt&, const StopAt&) = default;
  };
  struct KeepBest {
    std::string metric = {};
    int64_t every_epochs = 2;
    friend bool operator==(const KeepBest&, const KeepBest&) = default;
  };
  struct Cosine {
    double min_rate = 0;
    int64_t restart_epochs = 0;  // 0: one cycle over the run
    int64_t restart_growth = 1;
    friend bool operator==(const Cosine&, const Cosine&) = default;
  };
  struct Polynomial {
    double power = 1;
    double min_rate = 0;
    friend bool operator==(const Polynomial&, const Polynomial&) = default;
  };

  // By name, in this order. Not set: early_stopping, reduce_lr_on_plateau and, where there is a
  // folder for it, model_checkpoint.
  OptionNames schedulers = std::nullopt;
  WarmUp warm_up = {};                     // warm_up
  EarlyStopping early_stopping = {};       // early_stopping
  ReduceOnPlateau reduce_on_plateau = {};  // reduce_lr_on_plateau
  ReduceEvery reduce_every = {};           // reduce_lr_every_nepochs
  StopAt stop_at = {};                     // stop_at_loss
  KeepBest keep_best = {};                 // model_checkpoint
  std::string model_folder = {};           // where it writes; see ModelFolderOf
  Cosine cosine = {};                      // cosine
  Polynomial polynomial = {};              // polynomial

  friend bool operator==(const SchedulerOptions&, const SchedulerOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_SCHEDULER_OPTIONS_H_
