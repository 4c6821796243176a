#include "models/plan/plan.h"

#include <optional>
#include <utility>

#include "kernels/device/free_memory.h"
#include "kernels/operands/gradient_scale.h"
#include "models/plan/pixel_targets.h"
#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Plan>> Plan::Compile(const Graph& graph, ParameterStore& store,
                                                    DeviceContext& context,
                                                    const PlanOptions& options) {
  if (options.training && !store.has_gradients()) {
    return absl::FailedPreconditionError(
        "a training plan needs gradients: call ParameterStore::AllocateForTraining before");
  }
  std::unique_ptr<Plan> plan(new Plan(graph, store.dtype(), context));
  plan->store_ = &store;
  DTNN_RETURN_IF_ERROR(plan->Bind(options));
  const absl::Status allocated = plan->Allocate();
  if (!allocated.ok()) return plan->WithBatchThatFits(allocated, options);
  plan->BindParameters();
  return plan;
}

absl::StatusOr<PlanMemory> Plan::Measure(const Graph& graph, DType dtype, DeviceContext& context,
                                         const PlanOptions& options) {
  Plan plan(graph, dtype, context);
  DTNN_RETURN_IF_ERROR(plan.Bind(options));
  return plan.memory_;
}

// `own` holds what is allocated for one call.
absl::StatusOr<Workspace> Plan::WorkspaceOf(const Step& step, std::shared_ptr<Buffer>& own) {
  if (workspaces_ == nullptr) return Workspace(workspace_->data(), memory_.workspace);
  const size_t bytes = step.traits.workspace_bytes;
  if (bytes == 0) return Workspace();
  DTNN_ASSIGN_OR_RETURN(own, Buffer::Allocate(context_->device(), bytes));
  ++workspaces_->allocations;
  workspaces_->bytes += int64_t(bytes);
  return Workspace(own->data(), bytes);
}

absl::Status Plan::RunForward(size_t begin, size_t end) {
  // A pass of training may be captured, and replayed after updates: whatever is known now.
  DTNN_RETURN_IF_ERROR(store_->RenewCopies(/*anyway=*/training_));
  Observer* const observer = CurrentObserver();
  const Activity activity = training_ ? Activity::kForward : Activity::kInference;
  for (size_t i = begin; i < end; ++i) {
    Step& step = steps_[i];
    RenewVersions(step);
    if (!step.runs_forward) continue;
    const Span span(observer, {.activity = activity, .layer = IdOf(step), .samples = n_});
    std::shared_ptr<Buffer> own;
    DTNN_ASSIGN_OR_RETURN(const Workspace workspace, WorkspaceOf(step, own));
    absl::Status status = step.op->Forward({.inputs = step.inputs,
                                            .output = step.output,
                                            .parameters = step.parameters,
                                            .state = step.state,
                                            .workspace = workspace,
                                            .step = step_number_,
                                            .device_step = device_step_.tensor()});
    // A GPU has only queued the work.
    if (observer != nullptr && status.ok()) status = context_->Synchronize();
    if (!status.ok()) return Annotate(step, status);
  }
  if (changes_statistics_) store_->MarkStatisticsChanged();
  return absl::OkStatus();
}

void Plan::RenewVersions(Step& step) const {
  for (size_t p = 0; p < step.parameters.size(); ++p) {
    step.parameters[p].version =
        step.is_statistic[p] ? store_->statistics_version() : store_->version();
  }
}

absl::Status Plan::CheckTargets(const Tensor& targets) const {
  if (graph_.output_shape().rank() == 3) {
    return CheckPixelTargets(targets, n_, ExtentsOf(graph_.output_shape(), graph_.format()));
  }
  const int64_t outputs = graph_.output_shape()[0];
  if (targets.dtype() == dtype_ && targets.shape() == Shape{n_, outputs}) return absl::OkStatus();
  if (targets.dtype() != DType::kInt32 || targets.num_elements() != n_) {
    return InvalidArgument("a batch of ", n_, " samples came with targets of shape ",
                           targets.shape().ToString(), " and type ", Name(targets.dtype()));
  }
  for (int64_t i = 0; i < n_; ++i) {
    const int32_t label = targets.data<int32_t>()[i];
    if (label >= 0 && label < outputs) continue;
    return InvalidArgument("sample ", i, " of the batch has label ", label,
                           ", but the network has ", outputs, " classes");
  }
  return absl::OkStatus();
}

absl::Status Plan::BringTargets(const Tensor& targets) {
  DTNN_RETURN_IF_ERROR(CheckTargets(targets));
  const bool values = targets.dtype() != DType::kInt32;
  if (values ? !takes_rows_ : !takes_classes_) {
    return InvalidArgument(
        "this loss is not defined for targets that are ",
        values ? "values: it needs classes (mse, mae and binary_cross_entropy take values)"
               : "classes: it needs values");
  }
  DTNN_RETURN_IF_ERROR(loss_->CheckTargets(targets));
  DTNN_ASSIGN_OR_RETURN(targets_, values ? device_rows_.Put(targets)
                                         : device_classes_.Put(targets.Reshaped(ClassShape(n_))));
  return absl::OkStatus();
}

absl::Status Plan::RunLoss(const Tensor& dx, double gradient_scale) {
  const Span span({.activity = Activity::kLoss, .samples = n_});
  const Step& last = steps_.back();
  const Tensor& x = loss_takes_logits_ ? last.inputs[0] : last.output;
  GradientScale scale = gradient_scale;
  if (store_->loss_scale() != nullptr && !dx.empty()) {
    scale.on_device = store_->loss_scale()->scale();
  }
  DTNN_RETURN_IF_ERROR(loss_->Run(x, targets_, last.output, losses_, dx, scale));
  return WidenPredictions();
}

absl::Status Plan::RunBackward(const GradientsReady& ready) {
  const size_t end = steps_.size() - (loss_takes_logits_ ? 1 : 0);
  Observer* const observer = CurrentObserver();
  for (size_t i = end; i-- > 1;) {
    Step& step = steps_[i];
    if (!layout_.needs_gradient[i] || !step.runs_backward) continue;
    if (step.traits.is_view &&
        layout_.gradient[i] == layout_.gradient[size_t(step.input_nodes[0])]) {
      continue;
    }
    absl::Status status;
    {
      const Span span(observer,
                      {.activity = Activity::kBackward, .layer = IdOf(step), .samples = n_});
      std::shared_ptr<Buffer> own;
      DTNN_ASSIGN_OR_RETURN(const Workspace workspace, WorkspaceOf(step, own));
      status = step.op->Backward({.inputs = step.inputs,
                                  .output = step.output,
                                  .dy = step.dy,
                                  .dx = step.dx,
                                  .accumulate = {step.accumulate.get(), step.dx.size()},
                                  .parameters = step.parameters,
                                  .gradients = step.gradients,
                                  .state = step.state,
                                  .workspace = workspace,
                                  .step = step_number_,
                                  .device_step = device_step_.tensor()});
      if (observer != nullptr && status.ok()) status = context_->Synchronize();
    }
    if (!status.ok()) return Annotate(step, status);
    if (ready && !step.gradients.empty()) ready(step.first_gradient);
  }
  return absl::OkStatus();
}

Tensor Plan::device_predictions() const {
  return cast_out_ == nullptr ? steps_.back().output
                              : wide_predictions_.Samples(0, n_, TensorFormat::kNHWC);
}

absl::Status Plan::WidenPredictions() {
  if (cast_out_ == nullptr) return absl::OkStatus();
  return cast_out_->Run(steps_.back().output, device_predictions());
}

absl::Status Plan::FetchResults(bool with_losses) {
  DTNN_ASSIGN_OR_RETURN(predictions_, host_predictions_.Get(device_predictions()));
  if (with_losses) {
    DTNN_ASSIGN_OR_RETURN(losses_on_host_, host_losses_.Get(losses_));
  }
  return context_->Synchronize();
}

absl::Status Plan::Forward(const PlanInput& x) {
  DTNN_RETURN_IF_ERROR(BringSamples(x));
  DTNN_RETURN_IF_ERROR(RunForward());
  return FetchResults(/*with_losses=*/false);
}

absl::Status Plan::ForwardObserved(const PlanInput& x, Observe observe) {
  DTNN_RETURN_IF_ERROR(BringSamples(x));
  for (size_t i = 1; i < steps_.size(); ++i) {
    DTNN_RETURN_IF_ERROR(RunForward(i, i + 1));
    const Step& step = steps_[i];
    if (step.runs_forward) DTNN_RETURN_IF_ERROR(observe(step.last_node, step.output));
  }
  DTNN_RETURN_IF_ERROR(WidenPredictions());
  return FetchResults(/*with_losses=*/false);
}

absl::Status Plan::RunForward() {
  DTNN_RETURN_IF_ERROR(RunForward(1, steps_.size()));
  return WidenPredictions();
}

absl::Status Plan::Evaluate(const PlanInput& x, const Tensor& targets) {
  if (loss_ == nullptr) return absl::FailedPreconditionError("this plan was made without a loss");
  DTNN_RETURN_IF_ERROR(BindBatch(x, 0));
  DTNN_RETURN_IF_ERROR(RunForward(1, steps_.size() - (loss_takes_logits_ ? 1 : 0)));
  DTNN_RETURN_IF_ERROR(BringTargets(targets));
  DTNN_RETURN_IF_ERROR(RunLoss(Tensor(), 0));
  return FetchResults();
}

absl::Status Plan::ForwardBackward(const PlanInput& x, const Tensor& targets, double gradient_scale,
                                   int64_t step, const GradientsReady& ready) {
  DTNN_RETURN_IF_ERROR(BringBatch(x, targets, step));
  DTNN_RETURN_IF_ERROR(RunForwardBackward(gradient_scale, ready));
  return FetchResults();
}

absl::Status Plan::BringBatch(const PlanInput& x, const Tensor& targets, int64_t step) {
  if (!training_ || !store_->has_gradients()) {
    return absl::FailedPreconditionError("this plan or its parameters were not made for training");
  }
  DTNN_RETURN_IF_ERROR(BindBatch(x, step));
  return BringTargets(targets);
}

absl::Status Plan::RunForwardBackward(double gradient_scale, const GradientsReady& ready) {
  const size_t skipped = loss_takes_logits_ ? 1 : 0;
  DTNN_RETURN_IF_ERROR(RunForward(1, steps_.size() - skipped));
  DTNN_RETURN_IF_ERROR(RunLoss(steps_[steps_.size() - 1 - skipped].dy, gradient_scale));
  return RunBackward(ready);
}

double Plan::SumOfLosses(const Tensor& losses) {
  double sum = 0;
  DispatchFloating(losses.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < losses.num_elements(); ++i) sum += double(losses.data<T>()[i]);
  });
  return sum;
}

std::vector<std::string> Plan::Algorithms(bool alternatives) const {
  std::vector<std::string> lines;
  for (const Step& step : steps_) {
    const std::string algorithms = step.op->Algorithms();
    if (!algorithms.empty()) lines.push_back(StrCat(LayerName(step), ": ", algorithms));
    if (!alternatives) continue;
    for (const std::string& line : step.op->Alternatives()) lines.push_back("  " + line);
  }
  return lines;
}

std::vector<LayerMemory> Plan::MemoryByLayer() const {
  std::vector<LayerMemory> layers = DescribeLayerMemory(graph_, layout_);
  for (size_t i = 0; i < steps_.size(); ++i) {
    layers[i].workspace = steps_[i].traits.workspace_bytes;
    layers[i].kept = steps_[i].traits.kept_bytes;
  }
  return layers;
}

absl::Status Plan::Oversized(const absl::Status& status) const {
  return absl::Status(
      status.code(), StrCat("a plan for ", training_ ? "training on" : "evaluating", " batches of ",
                            batch_, " samples: ", status.message(), "; use a smaller batch"));
}

size_t Plan::TwinBytes() const {
  const int64_t outputs = graph_.output_shape().NumElements();
  return 2 * size_t(batch_ * (graph_.input_shape().NumElements() + outputs)) * SizeOf(dtype_) +
         2 * size_t(ClassShape(batch_).NumElements()) * sizeof(int32_t);
}

// Adds the largest batch for which a device has memory.
absl::Status Plan::WithBatchThatFits(const absl::Status& status, const PlanOptions& options) {
  steps_.clear();
  arena_.reset();
  workspace_.reset();
  const std::optional<size_t> free = FreeMemory(*context_);
  if (!absl::IsResourceExhausted(status) || !free) return status;
  // Without timing anything for each batch that is tried.
  BestOf* const tuner = context_->tuner();
  context_->SetTuner(nullptr);
  const auto fits = [&](int64_t batch) {
    PlanOptions smaller = options;
    smaller.batch = batch;
    smaller.best_of = nullptr;
    Plan plan(graph_, dtype_, *context_);
    if (!plan.Bind(smaller).ok()) return false;
    const size_t bytes = plan.memory_.total() + plan.TwinBytes();
    return bytes + bytes / 32 <= *free;  // memory comes in pages
  };
  int64_t largest = 0;
  for (int64_t too_large = options.batch; too_large - largest > 1;) {
    const int64_t middle = largest + (too_large - largest) / 2;
    (fits(middle) ? largest : too_large) = middle;
  }
  context_->SetTuner(tuner);
  return absl::Status(status.code(),
                      StrCat(status.message(), "; ",
                             largest == 0 ? "not even one sample fits"
                                          : StrCat("up to ", largest, " samples fit now")));
}

std::string Plan::LayerName(const Step& step) const {
  const Node& node = graph_.nodes()[size_t(step.node)];
  return StrCat("layer ", node.id, " (", node.layer->type_name(), ")");
}

absl::Status Plan::Annotate(const Step& step, const absl::Status& status) const {
  return WithContext(status, LayerName(step));
}

}  // namespace dtnn
