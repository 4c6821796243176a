// What a run is given besides its options: objects of the program. The options in force have their
// names.

#ifndef DTNN_MODELS_RUN_OBJECTS_RUN_OBJECTS_H_
#define DTNN_MODELS_RUN_OBJECTS_RUN_OBJECTS_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "data/transforms/transform.h"
#include "models/run/objects/network.h"
#include "models/run/objects/run_log.h"
#include "models/run/objects/shared.h"
#include "models/run/observe/run_listing.h"
#include "models/training/callback.h"
#include "optim/losses/loss.h"
#include "optim/metrics/metric.h"
#include "optim/optimizers/optimizer.h"
#include "optim/schedulers/scheduler.h"

namespace dtnn {

struct RunObjects {
  std::optional<Network> network = {};  // instead of RunOptions::network.name
  // Instead of RunOptions::data.name and all that says how its files are read.
  DatasetRef dataset = {};
  Shared<const Loss> loss = {};                    // instead of RunOptions::training.loss
  std::vector<Shared<const Metric>> metrics = {};  // if any, instead of training.metrics
  // If any, instead of schedule.schedulers. They belong to one run at a time.
  std::vector<Shared<Scheduler>> schedulers = {};
  TransformList transforms = {};  // if any, instead of data.augment.transforms
  // Instead of RunOptions::optimizer.name and its constants; the learning rate is that of the
  // options.
  Shared<const Optimizer> optimizer = {};
  std::vector<Callback*> callbacks = {};  // of training and tests; must outlive the run
  Communicator* communicator = nullptr;   // of several ranks; must outlive the run
  RunSinks sinks = {};                    // where messages go; a run without them is silent
  RunListing listing = {};
  // With RunOptions::optimizer.find_learning_rate, called on rank 0 with what was found for
  // RunOptions::optimizer.learning_rate. An error ends the run.
  std::function<absl::Status(double rate)> on_learning_rate = {};
  // SIGINT and SIGTERM end training after the step, with a checkpoint. A second one ends the
  // process.
  bool stop_on_signal = false;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBJECTS_RUN_OBJECTS_H_
