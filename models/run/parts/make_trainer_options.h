// RunOptions to the trainer's options.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_TRAINER_OPTIONS_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_TRAINER_OPTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "comm/communicator.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "models/run/options/run_options.h"
#include "models/training/step/metric_averages.h"
#include "models/training/step/trainer_options.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

// convolution.variant, or what a method of direct's (convolution.direct_method=list) means by
// another name.
std::string_view ConvVariantOf(const RunOptions& options);
// BestOf::Options::names: the variants that convolution.best_of_methods lists by a method.
std::map<std::string, std::string, std::less<>> BestOfNames(const RunOptions& options);

// Where the size of buckets is measured it is the first.
GradientReducerOptions ReducerOptionsOf(const RunOptions& options);

// The bytes of so many gradients, as if an all-reduce exchanged them.
double ExchangedBytes(const RunOptions& options, double elements);

// TrainerOptions::whole_steps: for runs that may continue from the last step before a failure. A
// client of a federation begins its round anew.
bool KeepsWholeSteps(const RunOptions& options);

// `communicator`: null for one rank.
TrainerOptions MakeTrainerOptions(const RunOptions& options, const MetricSet& metric_set,
                                  std::shared_ptr<const Optimizer> optimizer,
                                  Communicator* communicator);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_TRAINER_OPTIONS_H_
