// What a run would need, found without reading its data and without taking its memory.

#ifndef DTNN_MODELS_RUN_PREPARE_RUN_NEEDS_H_
#define DTNN_MODELS_RUN_PREPARE_RUN_NEEDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/loading/open_dataset.h"
#include "models/graph/graph.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"
#include "models/run/prepare/run_memory.h"
#include "optim/optimizers/optimizer.h"

namespace dtnn {

struct RunNeeds {
  RunOptions options = {};  // as the model that the run begins with has set them
  int ranks = 1;
  int64_t batch = 0;  // samples of a rank's step
  // Of the data set, where they are known without its files; else `graph` has the network's own
  // sizes, which are 0 outputs here where only these depend on the files.
  std::optional<DatasetSize> data = {};
  Graph graph = {};
  std::shared_ptr<const Optimizer> optimizer = {};  // null: the run only tests
  RunMemory memory = {};                            // of each rank
  std::vector<std::string> warnings = {};           // option_warnings.h
};

// For a run on so many ranks, on CPUs; 0: in a process that was started alone. Errors are those of
// Run::Create that do not depend on files of data or on the machine. RunOptions::data.name may be
// missing.
absl::StatusOr<RunNeeds> FindNeeds(const RunOptions& options, const RunObjects& objects = {},
                                   int ranks = 0);

// The table of layers, the multiply-adds of a sample, what ranks exchange, and the memory of each
// part: parameters, gradients, optimizer, activations, workspace; below it what validation and
// tests take besides.
std::string Describe(const RunNeeds& needs);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_RUN_NEEDS_H_
