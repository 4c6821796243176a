// A run before it takes memory: its data, its network, and all that was checked of its options, its
// files and the machine.

#ifndef DTNN_MODELS_RUN_PREPARE_PREPARED_RUN_H_
#define DTNN_MODELS_RUN_PREPARE_PREPARED_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/sum_over_ranks.h"
#include "data/dataset.h"
#include "data/loading/fingerprint.h"
#include "data/loading/loader.h"
#include "kernels/best_of/best_of.h"
#include "kernels/collective/device_collectives.h"
#include "kernels/device/context.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/graph/graph.h"
#include "models/run/federated/federation_options.h"
#include "models/run/objects/run_log.h"
#include "models/run/objects/run_objects.h"
#include "models/run/options/run_options.h"
#include "models/run/prepare/kept_models.h"
#include "models/run/samples/make_loaders.h"
#include "models/serving/saved_model.h"
#include "models/training/step/metric_averages.h"
#include "optim/losses/loss.h"
#include "optim/optimizers/optimizer.h"
#include "optim/optimizers/proximal.h"

namespace dtnn {

struct PreparedRun {
  // `goes_on`: with a run that other ranks have begun.
  PreparedRun(const RunOptions& given, RunObjects objects, bool goes_on = false);

  // What can be wrong shows here, on any rank: all ranks call it together, and all get an error
  // where one has one. Says what the run will be.
  absl::Status Prepare(RunLog& log);

  // Whether this rank writes files: one for all where they share a file system.
  bool Writes() const;
  bool WritesCheckpoints() const;

  // InvalidArgument for data that do not fit the network, after Prepare.
  absl::Status CheckFits(const Dataset& data) const;
  // For a test on a split of any data that do; `undivided`: each rank tests all samples.
  absl::StatusOr<std::unique_ptr<Loader>> MakeTestLoader(std::shared_ptr<const Dataset> data,
                                                         Split split, bool undivided = false) const;

  const RunObjects objects;
  Communicator* const communicator;  // null: one rank
  const int rank, ranks;
  const bool goes_on;
  RunOptions options;  // this rank's; Prepare sets what follows from the model and the data
  std::shared_ptr<const Optimizer> optimizer;
  std::shared_ptr<ProximalOptimizer> proximal;  // the same one, of a client of a federation
  std::optional<ClientPlace> client;            // likewise
  std::unique_ptr<DeviceContext> context;
  std::unique_ptr<DeviceCollectives> collectives;  // with device.nccl
  std::optional<Secret> encryption_key;            // where ranks encrypt what they sum
  SumOverRanks encrypted_sum;                      // likewise
  CheckpointFolder checkpoint_folder;
  std::optional<SavedModel> initial_model;  // where its file says which network it is
  std::shared_ptr<const Dataset> dataset;   // given before Prepare, or read by it
  DataFingerprint train_data, test_data;    // where somebody compares them
  int64_t date = Today();                   // in names of files: rank 0's
  MetricSet metric_set;
  std::shared_ptr<const Loss>
      training_loss;  // with training.class_weights; null: that of metric_set
  Graph graph;
  Loaders loaders;
  std::optional<BestOf> best_of;  // of a run that is tuned: has decided for every convolution
  std::string best_of_table;      // what it has found
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PREPARE_PREPARED_RUN_H_
