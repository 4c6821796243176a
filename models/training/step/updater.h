// What happens after a backward pass: gradients are summed over the ranks
// (comm/ranks/gradients/gradient_reducer.h), clipped, and applied to the parameters.
//
// An optimizer with a sparse sum (Optimizer::sparse_sum) has all gradients exchanged at once after
// the pass (comm/ranks/gradients/top_k_all_reduce.h), also on one rank.
//
// The optimizer updates the parameters of a bucket as soon as its sum is complete. In two cases it
// starts after the last bucket: with clipping, which needs the norm of all gradients, and with
// `whole_steps`. Parameters have the same bits in all cases, and on all ranks. An update that fails
// after its first bucket leaves some parameters updated and others not.

#ifndef DTNN_MODELS_TRAINING_STEP_UPDATER_H_
#define DTNN_MODELS_TRAINING_STEP_UPDATER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "comm/ranks/gradients/top_k_all_reduce.h"
#include "kernels/sum_of_squares/sum_of_squares.h"
#include "kernels/update/gate.h"
#include "kernels/update/update.h"
#include "models/checkpoint/training_state.h"
#include "models/parameters/parameter_store.h"
#include "models/training/ranks/bucket_choice.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/stopwatch.h"
#include "tensor/tensor.h"

namespace dtnn {

struct UpdaterOptions {
  // The gradient is shortened to this Euclidean norm where it is longer; 0: never.
  double clip_norm = 0;
  // No parameter changes before all gradients of a step have been exchanged, so that a rank which
  // loses the others in the middle is left with the parameters of the last complete step.
  bool whole_steps = false;
  Communicator* communicator = nullptr;  // null: one rank
  GradientReducerOptions reducer = {};
  // Watch is called, and nothing is updated while a loss is NaN or infinite.
  bool watches_losses = false;
  // The size of buckets is not the reducer's option, but measured (bucket_choice.h).
  bool choose_buckets = false;
};

class Updater {
 public:
  // The store, allocated for training, and everything else must outlive the updater.
  static absl::StatusOr<std::unique_ptr<Updater>> Create(ParameterStore& store,
                                                         DeviceContext& context,
                                                         const Optimizer& optimizer,
                                                         const UpdaterOptions& options);

  // An update from `gradients`, laid out as the store's. Finish leaves their sum over the ranks
  // there, unless this rank alone takes this update.
  absl::Status Begin(const Tensor& gradients, bool exchange = true);
  // All gradients from element `from` on are final: their exchange may start.
  void Ready(int64_t from);
  // For the updates from now on; not in a capture (kernels/device/captured_work.h).
  absl::Status SetStep(const UpdateStep& step);
  // Losses of this update, on the device: see UpdaterOptions::watches_losses. After one that was
  // not finite, no update changes anything until Resume.
  absl::Status Watch(const Tensor& losses) { return gate_->Watch(losses); }
  absl::Status Resume() { return gate_->Reset(); }
  // `before`: called where no parameter has changed yet, when all gradients have been exchanged;
  // its error is returned. Needs whole_steps.
  absl::Status Finish(const std::function<absl::Status()>& before = {});
  absl::Status Finish(const UpdateStep& step) {
    const absl::Status status = SetStep(step);
    return status.ok() ? Finish() : status;
  }

  // Whether the last update ended with an error when some parameters had followed it.
  bool torn() const { return torn_; }
  // What the exchange has cost so far beyond what it hid; slower ranks' delay included.
  double exchange_seconds() const {
    return exposed_before_ + (reducer_ ? reducer_->exposed_seconds() : 0);
  }
  // The norm of the gradients of the last update, before they were clipped: one float64 of the
  // device; empty without clipping.
  Tensor gradient_norm() const { return options_.clip_norm > 0 ? gate_->norm() : Tensor(); }
  // The same number without clipping; reads all gradients. Nothing before the first update, and
  // where losses are scaled.
  absl::StatusOr<std::optional<double>> MeasureGradientNorm() const;
  // The state of a sparse sum; nothing for others. All ranks call GatherExchange together; rank 0
  // gets the leftovers of the others.
  absl::StatusOr<std::optional<ExchangeState>> GatherExchange();
  // Where the leftovers are in the last slot already. InvalidArgument for values that cannot be.
  absl::Status RestoreExchange(const std::optional<ExchangeState>& state);
  int64_t buckets() const { return int64_t(parts_.size()); }

 private:
  // A bucket's range of the arenas and the optimizer's pass over it.
  struct Part {
    int64_t begin = 0, count = 0;
    std::unique_ptr<Update> update;
  };

  Updater(ParameterStore& store, DeviceContext& context, const Optimizer& optimizer,
          const UpdaterOptions& options)
      : store_(&store), context_(&context), optimizer_(&optimizer), options_(options) {}
  // Buckets of this size, and a part for each.
  absl::Status Cut(int64_t bucket_bytes);
  absl::Status AddPart(int64_t begin, int64_t end);
  Communicator& sparse_communicator() {
    return alone_ != nullptr ? *alone_ : *options_.communicator;
  }
  absl::Status SumSparsely();
  absl::Status ExchangeAndFollow(const std::function<absl::Status()>& before);
  absl::Status Judge();
  UpdateGates Gates() const;
  absl::Status Follow(const Part& part);

  ParameterStore* store_;
  DeviceContext* context_;
  const Optimizer* optimizer_;
  const UpdaterOptions options_;
  std::vector<Part> parts_;              // in the order of their exchange
  std::unique_ptr<Communicator> alone_;  // where a sparse sum has no other ranks
  std::optional<TopKAllReduce> sparse_;
  std::optional<UpdateStep> step_;
  std::unique_ptr<SumOfSquares> sum_of_squares_;  // of clipping and loss scaling
  Tensor squares_;
  std::unique_ptr<UpdateGate> gate_;  // null where nothing is clipped or watched
  Tensor gradients_;
  bool exchanges_ = false;     // in the update in progress
  std::vector<Tensor> slots_;  // of the part at work
  bool torn_ = false;
  std::optional<GradientReducer> reducer_;
  double exposed_before_ = 0;  // by reducers before this one
  // While the size of buckets is to be chosen: of this step, in seconds since its begin.
  std::optional<BucketChoice> choice_;
  std::optional<Stopwatch> since_begin_;
  std::vector<StepProfile::Event> ready_;
  double update_seconds_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_UPDATER_H_
