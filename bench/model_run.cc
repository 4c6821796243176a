#include "bench/model_run.h"

#include <utility>

#include "kernels/device/device_traits.h"
#include "kernels/transfers/transfers.h"
#include "models/quantization/quantize.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "tensor/philox.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ModelRun>> ModelRun::Create(const ModelRunOptions& options) {
  DTNN_ASSIGN_OR_RETURN(Graph graph, BuildModel(options.model, {.format = options.format}));
  std::unique_ptr<ModelRun> run(new ModelRun(options, std::move(graph)));
  DTNN_ASSIGN_OR_RETURN(run->context_, DeviceContext::Create(options.device));
  DTNN_RETURN_IF_ERROR(run->context_->SetMathMode(options.math_mode));
  DTNN_RETURN_IF_ERROR(run->MakeBatch());
  DTNN_ASSIGN_OR_RETURN(run->store_, ParameterStore::Create(run->graph_, *run->context_,
                                                            DType::kFloat32, /*seed=*/1));
  return run;
}

absl::Status ModelRun::MakeBatch() {
  const int64_t n = options_.batch;
  DTNN_ASSIGN_OR_RETURN(const Tensor x,
                        Tensor::Zeros(DType::kFloat32, graph_.input_shape().Prepend(n)));
  DTNN_ASSIGN_OR_RETURN(batch_.targets, Tensor::Zeros(DType::kInt32, Shape{n}));
  const Philox random(1, StreamId(RandomPurpose::kSynthetic));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.data<float>()[i] = float(random.Uniform(uint64_t(i)));
  }
  const uint32_t classes = uint32_t(graph_.output_shape()[0]);
  for (int64_t i = 0; i < n; ++i) {
    batch_.targets.data<int32_t>()[i] = int32_t(random.Below(uint64_t(i), classes));
  }
  batch_.count = batch_.global_count = n;
  DTNN_ASSIGN_OR_RETURN(batch_.x, ToDevice(*context_, x));
  return absl::OkStatus();
}

absl::Status ModelRun::PrepareForTraining() {
  if (options_.int8) return absl::InvalidArgumentError("int8 is for inference");
  TrainerOptions training;
  training.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                         {std::make_shared<CategoricalAccuracy>()}};
  training.optimizer = std::make_shared<Adam>(AdamOptions{.beta1 = 0.9});
  training.learning_rate = 1e-3;
  training.graphs = options_.graphs;
  DTNN_ASSIGN_OR_RETURN(engine_, StepEngine::Create(graph_, *store_, *context_, training));
  DTNN_RETURN_IF_ERROR(engine_->PrepareForTraining(options_.batch));
  averages_ = engine_->NewAverages();
  return absl::OkStatus();
}

absl::Status ModelRun::PrepareForInference() {
  PlanOptions plan = {.batch = options_.batch};
  if (options_.int8) {
    DTNN_ASSIGN_OR_RETURN(const Quantized quantized,
                          Quantize(graph_, *store_, *context_, batch_.x, {}));
    int8_ = quantized.record.choice();
    plan.int8 = &int8_;
  }
  DTNN_ASSIGN_OR_RETURN(plan_, Plan::Compile(graph_, *store_, *context_, plan));
  answers_ = 0;
  return absl::OkStatus();
}

absl::Status ModelRun::Infer() {
  if (!TraitsOf(context_->device()).replays_work) return plan_->Forward(batch_.x);
  const auto answer = [this]() -> absl::Status {
    DTNN_RETURN_IF_ERROR(plan_->BringSamples(batch_.x));
    return plan_->RunForward();
  };
  if (answers_++ == 0 || !options_.graphs) return answer();
  if (answer_ == nullptr) {
    DTNN_ASSIGN_OR_RETURN(answer_, CapturedWork::Capture(*context_, answer));
  }
  return answer_->Replay();
}

}  // namespace dtnn
