// Training steps of a network on made-up samples, timed: what a step costs a rank on its own, and
// what it costs with the gradients exchanged.
//
// A step is the trainer's: forward and backward pass, gradients handed to the exchange as they
// become final, the optimizer's pass after each bucket. All ranks call the functions together and
// get the same answer: medians, over the steps but the first two, of what the slowest rank took.

#ifndef DTNN_APPS_SCALE_MODEL_STEPS_H_
#define DTNN_APPS_SCALE_MODEL_STEPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"
#include "comm/ranks/gradients/cost_model.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/observe/trace/layer_facts.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/training/step/updater.h"
#include "optim/losses/loss.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/tensor.h"

namespace dtnn {

class ScaleModelSteps {
 public:
  // Network, frozen layers, samples per rank, element type, optimizer, loss and convolutions as the
  // options say; samples have the data set's extents where those are known. With a `model_file`,
  // network and loss are those of the saved model, and its element type unless the options say
  // another.
  static absl::StatusOr<std::unique_ptr<ScaleModelSteps>> Create(
      const Options& options, const std::string& model_file = {});

  const Graph& graph() const { return graph_; }
  int64_t batch() const { return batch_; }
  std::vector<LayerFacts> Layers() const { return DescribeLayers(graph_, *store_); }
  // "layer 12 (Conv2D)", for every event of a profile.
  std::vector<std::string> EventLayers() const;

  // The time of a forward pass alone.
  absl::StatusOr<double> Forward(Communicator* communicator, int64_t steps);
  // Without exchange; ranks work at the same time, since they may share cores and memory.
  absl::StatusOr<StepProfile> Profile(Communicator* communicator, int64_t steps);
  // StepProfile::exchange_load, by steps beside an all-reduce of `elements` float32 values, which
  // should be over before the step is.
  absl::StatusOr<double> ExchangeLoad(Communicator& communicator, int64_t elements, int64_t steps);

  struct Comparison {
    StepProfile alone;
    StepPrediction exchanged;  // as measured
  };
  // Steps alternately without and with exchange, so that both meet the same other load.
  absl::StatusOr<Comparison> Compare(Communicator& communicator,
                                     const GradientReducerOptions& reducer, int64_t steps);

 private:
  // Times within one step, in seconds since its beginning.
  struct Marks {
    std::vector<StepProfile::Event> ready;
    double backward = 0, end = 0;
  };

  // Medians of several steps.
  class Record;

  ScaleModelSteps() = default;
  absl::StatusOr<std::unique_ptr<Updater>> MakeUpdater(const UpdaterOptions& options);
  absl::Status Step(Communicator* communicator, Updater& updater, Marks& marks);

  Graph graph_;
  int64_t batch_ = 0, steps_done_ = 0;
  std::shared_ptr<const Loss> loss_;
  std::shared_ptr<const Optimizer> optimizer_;
  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Plan> plan_;
  Tensor x_, targets_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_SCALE_MODEL_STEPS_H_
