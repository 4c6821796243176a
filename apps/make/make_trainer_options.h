// Options to what the trainer is told.

#ifndef DTNN_APPS_MAKE_MAKE_TRAINER_OPTIONS_H_
#define DTNN_APPS_MAKE_MAKE_TRAINER_OPTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apps/flags/options.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "models/plan/fusion.h"
#include "models/training/metric_averages.h"
#include "models/training/trainer_options.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

// --conv-variant, or what a method of direct's (--conv-direct-method=list) means by another name.
std::string_view ConvVariantOf(const Options& options);
// BestOf::Options::names: the variants that --conv-direct-methods-for-best-of lists by a method.
std::map<std::string, std::string, std::less<>> BestOfNames(const Options& options);
Fusions MakeFusions(const Options& options);

// Where the size of buckets is measured it is the first.
GradientReducerOptions ReducerOptionsOf(const Options& options);

// Of so many gradients, as if an all-reduce exchanged them.
double ExchangedBytes(const Options& options, double elements);

// `communicator`: null for one rank.
TrainerOptions MakeTrainerOptions(const Options& options, const MetricSet& metric_set,
                                  std::shared_ptr<const Optimizer> optimizer,
                                  Communicator* communicator);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_TRAINER_OPTIONS_H_
