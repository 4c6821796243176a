// A graph compiled for one device, batch size and phase: primitives made, small fusions applied,
// every buffer placed in one arena. Running it allocates nothing, unless its workspaces are to be
// allocated anew (PlanOptions::workspaces).
//
// Plans share the ParameterStore, so a training plan and an evaluation plan see the same
// parameters. A batch may have any number of samples from 1 to the plan's: the last, smaller batch
// of an epoch is nothing special. Store and context must outlive the plan. Not for several threads
// at once.
//
// On a device that computes with 16 bits (DeviceContext::math_mode), every value has its own type:
// activations and their gradients have 16 bits, and so have copies of the weights; the
// probabilities of a softmax at the end, losses, vectors of parameters and all their gradients stay
// float32.

#ifndef DTNN_MODELS_PLAN_PLAN_H_
#define DTNN_MODELS_PLAN_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/byte_images/byte_twin.h"
#include "kernels/cast/cast.h"
#include "kernels/device/context.h"
#include "kernels/transfers/device_numbers.h"
#include "kernels/transfers/transfers.h"
#include "layers/base/layer.h"
#include "layers/int8/bind_int8.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/fusion.h"
#include "models/plan/int8_types.h"
#include "models/plan/layer_memory.h"
#include "models/plan/plan_layout.h"
#include "optim/losses/loss.h"
#include "tensor/tensor.h"

namespace dtnn {

// Workspaces that were allocated for single calls.
struct WorkspaceUse {
  int64_t allocations = 0, bytes = 0;
};

struct PlanOptions {
  int64_t batch = 1;
  bool training = false;
  const Loss* loss = nullptr;  // required for training; evaluation may do without
  std::string conv_variant = "auto";
  // Times convolutions that nobody chose a variant for, and whose choice it does not know yet, with
  // data of their own (kernels/conv/choice/fastest.h). Null: a rule chooses.
  BestOf* best_of = nullptr;
  uint64_t random_seed = 57005;  // of dropout; differs between ranks
  Fusions fusions = {};          // of evaluation plans
  // An evaluation in 8 bits with these ranges, on a CPU, of float32 parameters and NHWC images; all
  // fusions are made. Null: in the types of the context's math mode.
  const Int8Choice* int8 = nullptr;
  // In training, normalises batches with the statistics of these ranks' samples too; null: with
  // those of its own. Must outlive the plan, and fits memory on the host only.
  RankExchange* ranks = nullptr;
  // In training, leaves alone the gradients of biases before a normalisation: they are 0 in
  // ParameterStore::gradients(), and would be 0 but for rounding. False where a later step may find
  // anything else there, as after sums over ranks that are not exact. Does nothing with `ranks`,
  // where these gradients are 0 only in the sum.
  bool skips_zero_gradients = true;
  // Null: the plan keeps one workspace, which all layers share. Else each call of a layer that
  // needs one allocates and frees its own, counted here: to measure what keeping it saves. On the
  // CPU; must outlive the plan.
  WorkspaceUse* workspaces = nullptr;
};

// The samples of a batch, dense, on the host; values may be on the device of the plan already.
struct PlanInput {
  PlanInput(Tensor values) : x(std::move(values)) {}  // NOLINT: values are an input
  PlanInput(Tensor bytes, Tensor changes, std::shared_ptr<const ByteImagesSpec> spec)
      : x(std::move(bytes)), changes(std::move(changes)), spec(std::move(spec)) {}

  Tensor x;  // (n, sample shape) in the type of the parameters; or, of images, the bytes
  // With bytes: what the device makes of them, in the format of the graph
  // (kernels/byte_images/byte_images.h). Not on a CPU. Null: x are values.
  Tensor changes = {};
  std::shared_ptr<const ByteImagesSpec> spec = {};
};

class Plan {
 public:
  static absl::StatusOr<std::unique_ptr<Plan>> Compile(const Graph& graph, ParameterStore& store,
                                                       DeviceContext& context,
                                                       const PlanOptions& options);
  // What the plan would allocate, without allocating it and without parameters.
  static absl::StatusOr<PlanMemory> Measure(const Graph& graph, DType dtype, DeviceContext& context,
                                            const PlanOptions& options);

  // `x` must live until the call returns; `targets` are classes, of samples or of the pixels of an
  // output that is an image, or values, as the loss takes them
  // (optim/losses/loss.h). InvalidArgument for another shape or type and for invalid classes.
  // Predictions only; a training plan applies dropout here too, and updates running statistics:
  absl::Status Forward(const PlanInput& x);
  // The same, and calls observe(node, output) after each op that computes: the node whose output it
  // is, the last of those that run as one op. What it writes there is what later ops read.
  using Observe = absl::FunctionRef<absl::Status(int node, const Tensor& output)>;
  absl::Status ForwardObserved(const PlanInput& x, Observe observe);
  // Predictions and losses:
  absl::Status Evaluate(const PlanInput& x, const Tensor& targets);
  // Told, in the middle of a backward pass, that all elements of ParameterStore::gradients() from
  // `from` on are final (on a GPU: will be, by what is queued). `from` falls from call to call, to
  // 0 in the last.
  using GradientsReady = std::function<void(int64_t from)>;
  // Predictions, losses and the gradients of all parameters, of gradient_scale * sum of losses; in
  // float16 times ParameterStore::loss_scale().
  // `step` counts the training steps done before: it advances the random streams of dropout.
  absl::Status ForwardBackward(const PlanInput& x, const Tensor& targets, double gradient_scale,
                               int64_t step, const GradientsReady& ready = nullptr);

  // ForwardBackward in its parts, for callers that look at results later, or capture the middle
  // part (kernels/device/captured_work.h). What the host brings; not in a capture:
  absl::Status BringBatch(const PlanInput& x, const Tensor& targets, int64_t step);
  // What the device does with it. A replay does the same with what was brought since, if that has
  // as many samples and the same type of targets.
  absl::Status RunForwardBackward(double gradient_scale, const GradientsReady& ready = nullptr);
  // Likewise Forward's parts.
  absl::Status BringSamples(const PlanInput& x) { return BindBatch(x, 0); }
  absl::Status RunForward();
  // The results, on the device; predictions in the type of the parameters.
  const Tensor& device_losses() const { return losses_; }
  Tensor device_predictions() const;
  // Waits for them; then predictions() and LossSum() answer.
  absl::Status FetchResults() { return FetchResults(/*with_losses=*/true); }

  // Runs the forward pass once more, looking at everything as it is written, and says where the
  // first NaN or infinity stands: "layer 5 (Conv2D): nan in weights", "layer 6 (Tanh): output of
  // sample 3 holds inf". Empty where all is finite. For a step that went wrong, with its arguments;
  // several times slower than it, and running statistics move once more.
  absl::StatusOr<std::string> FirstNonFinite(const PlanInput& x, const Tensor& targets,
                                             int64_t step);

  // Results of the last call, on the host.
  const Tensor& predictions() const { return predictions_; }
  double LossSum() const { return SumOfLosses(losses_on_host_); }
  // The sum of a host tensor of losses.
  static double SumOfLosses(const Tensor& losses);

  const PlanMemory& memory() const { return memory_; }
  // Which buffers there are, and when each is used.
  const PlanLayout& layout() const { return layout_; }
  // In 8 bits, the types of all values; else empty.
  const Int8Types& int8_types() const { return int8_types_; }
  // A line for each layer that has a choice: "layer 1 (Conv2D): forward winograd, ...".
  // With `alternatives`, after each its LayerOp::Alternatives, indented.
  std::vector<std::string> Algorithms(bool alternatives = false) const;
  // In the order of the graph's nodes.
  std::vector<LayerMemory> MemoryByLayer() const;

 private:
  // One node with the views of this plan's memory that its op works on.
  struct Step {
    int node = 0;
    int folded_node = -1;  // the normalisation that the op applies too, with its parameters
    int paired_node = -1;  // likewise, the one whose output it adds
    int last_node = -1;    // the node whose output the op writes
    std::unique_ptr<LayerOp> op;
    LayerOpTraits traits;
    bool runs_forward = true;   // false: absorbed by the op before it, or a mere view
    bool runs_backward = true;  // false: absorbed there too
    std::vector<Tensor> inputs, dx, gradients;
    std::vector<ParameterView> parameters;
    std::vector<uint8_t> is_statistic;  // per parameter: changed by forward passes, not by updates
    std::vector<int> input_nodes;       // the node's, and the addend that the op adds too
    int64_t first_gradient = 0;         // its element of the arena
    std::unique_ptr<bool[]> accumulate;
    Tensor output, dy, state;
  };

  Plan(const Graph& graph, DType dtype, DeviceContext& context)
      : graph_(graph), context_(&context), dtype_(dtype) {}

  absl::Status Bind(const PlanOptions& options);
  absl::Status BindNode(int index, const Fusion& fusion, bool after_relu, bool bias_gradient,
                        const std::vector<uint8_t>& needs_gradient,
                        const std::optional<ImageExtents>& origin, const PlanOptions& options);
  Int8Values Int8ValuesOf(const Step& step) const;
  absl::Status BindLoss(const Loss& loss);
  absl::Status Allocate();
  absl::Status ChooseTypes();
  absl::Status ChooseInt8(const PlanOptions& options, const std::vector<Fusion>& fusions);
  Tensor View(int buffer, DType dtype, const Shape& shape) const;
  Tensor View(const PlannedValue& value, int node, int64_t n) const;
  Tensor Activation(int node, int64_t n) const;
  bool IsStatistic(int node, const ParameterSpec& parameter) const;
  Shape ClassShape(int64_t n) const;
  void BindParameters();
  void RenewVersions(Step& step) const;
  absl::Status BindBatch(const PlanInput& x, int64_t step);
  absl::Status BringValues(const Tensor& x);
  absl::Status BringBytes(const PlanInput& input);
  absl::Status CheckBatch(const Tensor& x, DType dtype, const Shape& sample) const;
  void BindViews(int64_t n);
  absl::Status BringTargets(const Tensor& targets);
  absl::StatusOr<Workspace> WorkspaceOf(const Step& step, std::shared_ptr<Buffer>& own);
  absl::Status RunForward(size_t begin, size_t end);
  absl::StatusOr<std::string> FirstNonFiniteParameter(const Step& step) const;
  absl::StatusOr<std::string> FirstNonFiniteSample(const Tensor& value) const;
  absl::Status CheckTargets(const Tensor& targets) const;
  absl::Status WidenPredictions();
  absl::Status RunLoss(const Tensor& dx, double gradient_scale);
  absl::Status RunBackward(const GradientsReady& ready);
  absl::Status FetchResults(bool with_losses);
  absl::Status Oversized(const absl::Status& status) const;
  // What a device allocates beside the arena and the workspace: batches and targets, twice.
  size_t TwinBytes() const;
  absl::Status WithBatchThatFits(const absl::Status& status, const PlanOptions& options);
  int IdOf(const Step& step) const { return graph_.nodes()[size_t(step.node)].id; }
  std::string LayerName(const Step& step) const;  // "layer 5 (Conv2D)"
  absl::Status Annotate(const Step& step, const absl::Status& status) const;

  const Graph graph_;
  ParameterStore* store_ = nullptr;
  DeviceContext* context_;
  const DType dtype_;                // of parameters, losses, the batch and predictions on the host
  std::vector<DType> value_dtypes_;  // of each node's output and its gradient
  Int8Types int8_types_;
  PlanLayout layout_;
  PlanMemory memory_;
  int64_t batch_ = 0;  // the most samples
  int64_t n_ = 0;      // samples that the views are made for
  bool training_ = false;
  bool loss_takes_logits_ = false, takes_classes_ = false, takes_rows_ = false;
  bool changes_statistics_ = false;  // in a forward pass of training
  std::vector<Step> steps_;
  std::vector<size_t> batch_readers_;  // steps whose views point into the batch
  std::unique_ptr<LossOp> loss_;
  std::shared_ptr<Buffer> arena_, workspace_;
  WorkspaceUse* workspaces_ = nullptr;  // null: workspace_ serves all calls
  // The batch, its targets and the number of its step as the ops see them.
  Tensor x_, targets_;
  int64_t step_number_ = 0;
  DeviceTwin device_x_, device_classes_, device_rows_;  // those of targets that the loss takes
  std::unique_ptr<ByteTwin> device_bytes_;              // null until there are any
  DeviceNumbers device_step_;
  // Where values have 16 or 8 bits: the batch, and an output that is not a softmax's, converted.
  std::unique_ptr<Cast> cast_in_, cast_out_;
  Tensor narrow_x_, wide_predictions_;
  Tensor losses_;
  HostTwin host_losses_, host_predictions_;
  Tensor predictions_, losses_on_host_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_PLAN_H_
