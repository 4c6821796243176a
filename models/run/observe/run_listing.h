// How a program that has names for the options of a run lists them, in its log and its files. All
// may be empty: a program without such names.

#ifndef DTNN_MODELS_RUN_OBSERVE_RUN_LISTING_H_
#define DTNN_MODELS_RUN_OBSERVE_RUN_LISTING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "models/observe/tensorboard/tensorboard_writer.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// What options do not say.
struct RunFacts {
  int64_t mpi_processes = 1;
  int64_t threads_per_process = 1;
  int64_t gpus_per_node = 0;
};

struct RunListing {
  // Lines for the log: those that most runs differ in, or all.
  std::function<absl::StatusOr<std::string>(const RunOptions& options, const RunFacts& facts,
                                            bool all)>
      parameters = {};
  // The command that starts such a run of so many ranks; `separator`: between its options.
  std::function<std::string(int64_t ranks, std::string_view separator)> command = {};
  // Every option with its value.
  std::function<std::vector<std::pair<std::string, std::string>>(const RunOptions& options)>
      values = {};
  // Those by which runs are told apart.
  std::function<std::vector<std::pair<std::string, Hyperparameter>>(const RunOptions& options)>
      hyperparameters = {};
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBSERVE_RUN_LISTING_H_
