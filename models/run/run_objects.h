// What a run is given besides its options: objects of the program, instead of what the options
// name.

#ifndef DTNN_MODELS_RUN_RUN_OBJECTS_H_
#define DTNN_MODELS_RUN_RUN_OBJECTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "data/dataset.h"
#include "models/run/lasting_run.h"
#include "models/run/network.h"
#include "models/run/observe/run_listing.h"
#include "models/run/run_log.h"
#include "models/training/callback.h"
#include "optim/losses/loss.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct RunObjects {
  std::optional<Network> network = {};  // instead of RunOptions::network.name
  // Instead of RunOptions::data.name and all that says how its files are read.
  std::shared_ptr<const Dataset> dataset = nullptr;
  std::shared_ptr<const Loss> loss = nullptr;  // instead of RunOptions::training.loss
  // Instead of RunOptions::optimizer.name and its constants; the learning rate is that of the
  // options.
  std::shared_ptr<const Optimizer> optimizer = nullptr;
  std::vector<Callback*> callbacks = {};  // of training and tests; must outlive the run
  Communicator* communicator = nullptr;   // of several ranks; must outlive the run
  RunSinks sinks = {};
  RunListing listing = {};
  // SIGINT and SIGTERM end training after the step, with a checkpoint. A second one ends the
  // process.
  bool stop_on_signal = false;
  // For a client of a federation: before the first epoch of a round; `epochs`: those that the
  // trainer counts before it.
  std::function<void(int64_t round, int64_t rounds, int64_t epochs)> begin_round = {};
  // For an elastic run, else null.
  LastingRun* lasting = nullptr;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_RUN_OBJECTS_H_
