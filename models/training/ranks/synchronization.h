// When the ranks of a data-parallel run exchange what; the trainer calls these functions.
//
// Ordinarily (ModelSyncOptions as they are, common data) gradients of every update are summed and
// are the mean over the samples of all ranks; models are alike and never exchanged, but for running
// statistics, which each rank tracks on its samples and which are averaged at the end of a pass.
// Otherwise gradients are weighted means of the ranks' means, updates may be of one rank alone, and
// models drift apart until they are averaged (comm/model_sync.h); each rank keeps its own frozen
// layers. Decisions are the same on all
// ranks. Whatever fails leaves the parameters as they were.

#ifndef DTNN_MODELS_TRAINING_RANKS_SYNCHRONIZATION_H_
#define DTNN_MODELS_TRAINING_RANKS_SYNCHRONIZATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/model_sync.h"
#include "comm/sum_over_ranks.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_store.h"
#include "models/training/ranks/rank_shares.h"
#include "tensor/tensor.h"

namespace dtnn {

struct SynchronizationOptions {
  ModelSyncOptions models = {};
  // All ranks begin with rank 0's parameters and running statistics; else each with its own.
  bool at_start = true;
  // All ranks end with the weighted sum of their parameters and running statistics.
  bool at_end = true;
  // Running statistics are the same on all ranks already.
  bool common_statistics = false;
  // Another way to sum than the communicator's; rank 0's parameters at the start are a sum then.
  SumOverRanks sum = {};
};

class Synchronization {
 public:
  // `communicator`: null for one rank, which exchanges nothing; else it must outlive this. The
  // context is the store's.
  Synchronization(Communicator* communicator, DeviceContext& context,
                  const SynchronizationOptions& options);
  // InvalidArgument if more ranks with data are required than there are ranks.
  absl::Status Check() const;

  // Once, before the first update.
  absl::Status BeginTraining(ParameterStore& store);
  // What the ranks have of the epoch at hand.
  void set_shares(const RankShares& shares) { shares_ = shares; }
  // The run's update number `update`, from 0, begins with step `step` of the epoch.
  void BeginUpdate(int64_t update, int64_t step);

  // Whether the update in progress exchanges gradients, or each rank follows its own:
  bool exchanges() const { return exchanges_; }
  // Whether a rank's gradients are the mean over its own samples, times its weight where they are
  // exchanged; else they are sums over its samples, divided by those of all ranks.
  bool means_of_ranks() const { return means_of_ranks_; }
  double weight() const { return weight_; }

  // After the optimizer's step; averages the models if it is time.
  absl::Status EndUpdate(ParameterStore& store);
  // At the end of a pass, and before what ranks hold is saved: running statistics.
  absl::Status AverageStatistics(ParameterStore& store);
  // After the last epoch.
  absl::Status EndTraining(ParameterStore& store);

 private:
  absl::Status AverageModels(ParameterStore& store, double weight);
  absl::Status Average(ParameterStore& store, const Tensor& part, double weight);

  Communicator* communicator_;
  DeviceContext* context_;
  const SynchronizationOptions options_;
  RankShares shares_;
  SyncDecision decision_;
  bool exchanges_ = false, means_of_ranks_ = false;
  double weight_ = 1;
  bool statistics_differ_ = false;  // each rank has tracked its own samples
  Tensor sums_;                     // on the host, as large as all that training changes
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RANKS_SYNCHRONIZATION_H_
