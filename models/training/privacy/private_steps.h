// Steps of training with differential privacy for each sample (private_gradients.h): forward and
// backward passes over one sample at a time, several of them in parallel. Each thread has its
// own plan of one sample, and, but for the first, its own copy of the parameters. Sums of rounded
// gradients are exact, so results do not depend on the number of threads.
//
// Masks of dropout are by a random word for each sample: were they by its place in the batch, they,
// and so the gradients of others, would depend on which samples come before.

#ifndef DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_STEPS_H_
#define DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_STEPS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/loading/loader.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/training/privacy/private_gradients.h"
#include "tensor/tensor.h"

namespace dtnn {

class PrivateSteps {
 public:
  // Makes a plan that trains on one sample.
  using CompilePlan =
      std::function<absl::StatusOr<std::unique_ptr<Plan>>(ParameterStore&, DeviceContext&)>;

  // `plan`: of the first thread, with `store`, which has gradients. Batches have `most` samples or
  // fewer. All must outlive this. InvalidArgument as PrivateGradients; Unimplemented on a GPU.
  static absl::StatusOr<std::unique_ptr<PrivateSteps>> Create(
      const PrivateTraining& options, const Graph& graph, ParameterStore& store,
      DeviceContext& context, Plan& plan, int64_t most, const CompilePlan& compile);

  // Leaves the gradient of the step in the store, where batches have `mean` samples on average.
  // InvalidArgument for a batch that is too large, or does not hold as many samples as it says.
  absl::Status Run(const Batch& batch, double mean);
  // Results of the last Run: the sum of the losses, which may be NaN, and predictions.
  double LossSum() const;
  Tensor predictions() const;

 private:
  struct Worker {
    std::unique_ptr<DeviceContext> own_context;
    std::unique_ptr<ParameterStore> own_store;
    std::unique_ptr<Plan> own_plan;
    ParameterStore* store = nullptr;
    Plan* plan = nullptr;
    PrivateGradients::Sum sum;
    absl::Status status;
  };

  PrivateSteps() = default;
  absl::Status CheckBatch(const Batch& batch) const;
  absl::StatusOr<Worker> MakeWorker(const Graph& graph, const CompilePlan& compile) const;
  absl::Status RunSample(Worker& worker, const Batch& batch, int64_t sample);

  ParameterStore* store_ = nullptr;
  DeviceContext* context_ = nullptr;
  int64_t most_ = 0;
  std::unique_ptr<PrivateGradients> gradients_;
  std::vector<Worker> workers_;
  int64_t count_ = 0;  // samples of the last Run
  std::vector<double> losses_;
  std::vector<uint64_t> words_;  // of the samples
  Tensor predictions_;           // of `most_` samples
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_PRIVACY_PRIVATE_STEPS_H_
