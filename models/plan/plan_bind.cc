// How a plan comes to be: layers bound, memory placed, and the views of both made for a batch.

#include <algorithm>
#include <cassert>
#include <utility>

#include "kernels/device/device_traits.h"
#include "kernels/int8/quantize_tensor.h"
#include "layers/activation.h"
#include "layers/int8/bind_int8.h"
#include "layers/softmax.h"
#include "models/parameters/weights_layout.h"
#include "models/plan/plan.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// By type, not by name: a layer of the user's own may be called as it likes.
FinalActivation KindOf(const Layer& layer) {
  if (dynamic_cast<const SoftmaxLayer*>(&layer) != nullptr) return FinalActivation::kSoftmax;
  const auto* activation = dynamic_cast<const ActivationLayer*>(&layer);
  return activation != nullptr && activation->kind() == ActivationKind::kSigmoid
             ? FinalActivation::kSigmoid
             : FinalActivation::kOther;
}

}  // namespace

// The type of each node's output, by the context's math mode.
absl::Status Plan::ChooseTypes() {
  const MathMode mode = context_->math_mode();
  if (mode != MathMode::kFp32 && dtype_ != DType::kFloat32) {
    return InvalidArgument("math mode ", Name(mode), " is for float32 parameters; these are ",
                           Name(dtype_));
  }
  const std::vector<Node>& nodes = graph_.nodes();
  value_dtypes_.assign(nodes.size(), ActivationType(mode, dtype_));
  if (!IsHalf(value_dtypes_[0])) return absl::OkStatus();
  if (KindOf(*nodes.back().layer) == FinalActivation::kSoftmax) value_dtypes_.back() = dtype_;
  return absl::OkStatus();
}

absl::Status Plan::ChooseInt8(const PlanOptions& options, const std::vector<Fusion>& fusions) {
  const bool on_cpu = TraitsOf(context_->device()).scales_results;
  if (training_ || !on_cpu || dtype_ != DType::kFloat32 || graph_.format() != TensorFormat::kNHWC ||
      context_->math_mode() != MathMode::kFp32) {
    return absl::InvalidArgumentError(
        "8 bits are for inference on a CPU, of a network of NHWC images with float32 parameters");
  }
  DTNN_ASSIGN_OR_RETURN(int8_types_, ChooseInt8Types(graph_, fusions, *options.int8));
  for (size_t i = 0; i < value_dtypes_.size(); ++i) {
    if (int8_types_.values[i]) value_dtypes_[i] = DType::kUint8;
  }
  return absl::OkStatus();
}

// Binds every layer, and lets those that can absorb what follows them (models/plan/fusion.h).
absl::Status Plan::Bind(const PlanOptions& options) {
  if (options.batch < 1) {
    return InvalidArgument("a plan needs a batch of at least 1, not ", options.batch);
  }
  if (options.training && options.loss == nullptr) {
    return absl::InvalidArgumentError("a training plan needs a loss");
  }
  batch_ = options.batch;
  training_ = options.training;
  workspaces_ = options.workspaces;
  DTNN_RETURN_IF_ERROR(ChooseTypes());
  const std::vector<Node>& nodes = graph_.nodes();
  const bool may_fold =
      !training_ && TraitsOf(context_->device()).FoldsNormalizations(graph_.format());
  const std::vector<std::vector<int>> consumers = ConsumersOf(graph_);
  std::vector<Fusion> fusions(nodes.size());
  // For nodes that run in the write-back of one before, that one; and those relus among them whose
  // gradient is left to the node after them.
  std::vector<int> absorber(nodes.size(), -1);
  std::vector<uint8_t> left_to_next(nodes.size(), 0);
  const Fusions wanted = options.int8 != nullptr ? Fusions()
                         : may_fold              ? options.fusions
                                                 : Fusions::None();
  const std::vector<Fusion> found = FindFusions(graph_, wanted, may_fold);
  if (options.int8 != nullptr) DTNN_RETURN_IF_ERROR(ChooseInt8(options, found));
  // Normalisations that are left to the op of the one after them, which reads their inputs, forward
  // and backward, and writes the gradients of those. As views they lend it that memory, and what is
  // said to read their outputs keeps it alive.
  std::vector<uint8_t> left_to_pair(nodes.size(), 0);
  const bool may_pair =
      training_ && options.ranks == nullptr && TraitsOf(context_->device()).pairs_normalizations;
  for (Fusion fusion : found) {
    fusion.pair = may_pair && PairsNormalizations(graph_, fusion);
    if (fusion.pair) left_to_pair[size_t(fusion.addend)] = 1;
    fusions[size_t(fusion.layer)] = fusion;
    for (int node : {fusion.normalization, fusion.addition, fusion.relu}) {
      if (node >= 0) absorber[size_t(node)] = fusion.layer;
    }
  }
  const std::vector<uint8_t> needs_gradient = NeedsGradient(graph_);
  const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(graph_);
  std::vector<uint8_t> no_bias_gradient(nodes.size(), 0);
  if (training_ && options.skips_zero_gradients && options.ranks == nullptr) {
    no_bias_gradient = LosesConstants(graph_);
  }
  std::vector<LayerOpTraits> traits;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const bool after_relu = !node.inputs.empty() && left_to_next[size_t(node.inputs[0])];
    DTNN_RETURN_IF_ERROR(BindNode(int(i), fusions[i], after_relu, !no_bias_gradient[i],
                                  needs_gradient, origins[i], options));
    Step& step = steps_.back();
    if (left_to_pair[i]) {
      step.traits = {.is_view = true, .backward_in_place = 0, .needs_dense = true};
      step.runs_backward = false;
    }
    changes_statistics_ |= step.traits.changes_statistics;
    step.runs_forward = i > 0 && absorber[i] < 0 && !step.traits.is_view;
    // Where the op before or the one after takes over the backward pass too, nothing is left of
    // what was absorbed.
    if (absorber[i] >= 0) {
      const bool includes = !training_ || traits[size_t(absorber[i])].backward_includes_fused;
      left_to_next[i] = !includes && consumers[i].size() == 1 &&
                        nodes[size_t(consumers[i][0])].layer->CanApplyReluGradient();
      if (includes || left_to_next[i]) {
        step.traits = {.is_view = true, .backward_in_place = 0};
        step.runs_backward = false;
      }
    }
    traits.push_back(step.traits);
  }
  if (options.loss != nullptr) DTNN_RETURN_IF_ERROR(BindLoss(*options.loss));
  layout_ = MakePlanLayout(graph_, traits, absorber,
                           {.batch = batch_,
                            .dtype = dtype_,
                            .value_dtypes = value_dtypes_,
                            .training = training_,
                            .loss_takes_logits = loss_takes_logits_});
  memory_ = layout_.memory;
  for (const LayerOpTraits& op : traits) {
    memory_.workspace = std::max(memory_.workspace, op.workspace_bytes);
    memory_.kept += op.kept_bytes;
  }
  return absl::OkStatus();
}

// Those that the op of a step reads and writes.
Int8Values Plan::Int8ValuesOf(const Step& step) const {
  Int8Values values = {.output = int8_types_.values[size_t(step.last_node)],
                       .products = int8_types_.products[size_t(step.node)] != 0};
  for (const int input : step.input_nodes) {
    values.inputs.push_back(int8_types_.values[size_t(input)]);
  }
  return values;
}

// Appends the step of a node, bound.
absl::Status Plan::BindNode(int index, const Fusion& fusion, bool after_relu, bool bias_gradient,
                            const std::vector<uint8_t>& needs_gradient,
                            const std::optional<ImageExtents>& origin, const PlanOptions& options) {
  const Node& node = graph_.nodes()[size_t(index)];
  Step step;
  step.node = index;
  step.folded_node = fusion.normalization;
  step.last_node = std::max({index, fusion.normalization, fusion.addition, fusion.relu});
  step.input_nodes = node.inputs;
  if (fusion.addend >= 0) step.input_nodes.push_back(fusion.addend);
  if (fusion.pair) step.paired_node = fusion.addend;
  // Far beyond any machine, and far enough from the end of 64 bits for sums of buffers.
  constexpr int64_t kMostBytes = int64_t{1} << 52;
  if (batch_ > kMostBytes / 8 / std::max<int64_t>(1, node.output.NumElements())) {
    return Annotate(step, Oversized(absl::ResourceExhaustedError("the output exceeds 2^52 bytes")));
  }
  const auto differentiates = [&](int each) { return needs_gradient[size_t(each)] != 0; };
  const BindContext context = {
      .device = context_,
      .batch = batch_,
      .dtype = options.int8 == nullptr ? value_dtypes_[0] : dtype_,
      .wide_output = IsHalf(value_dtypes_[0]) && !IsHalf(value_dtypes_[size_t(index)]),
      .tf32 = context_->math_mode() == MathMode::kTf32,
      .format = graph_.format(),
      .training = training_,
      .frozen = training_ && node.frozen,
      .backward = training_ && differentiates(index),
      .input_gradient = training_ && std::ranges::any_of(step.input_nodes, differentiates),
      .bias_gradient = bias_gradient,
      .inputs = node.input_shapes,
      .output = node.output,
      .features_of = origin.value_or(BindContext().features_of),
      .conv_variant = options.conv_variant,
      .best_of = options.best_of,
      .fuse_addition = fusion.addition >= 0,
      .fuse_relu = fusion.relu >= 0,
      .fuse_addend = fusion.pair ? graph_.nodes()[size_t(fusion.addend)].layer.get() : nullptr,
      .after_relu = after_relu,
      .fuse_normalization = fusion.normalization < 0
                                ? nullptr
                                : graph_.nodes()[size_t(fusion.normalization)].layer.get(),
      .random = Philox(options.random_seed, StreamId(RandomPurpose::kDropout, uint64_t(node.id))),
      .ranks = options.ranks};
  absl::StatusOr<std::unique_ptr<LayerOp>> op =
      options.int8 == nullptr || index == 0 ? node.layer->Bind(context)
                                            : BindInt8(*node.layer, context, Int8ValuesOf(step));
  if (!op.ok()) return Annotate(step, op.status());
  step.op = *std::move(op);
  step.traits = step.op->traits();
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Plan::BindLoss(const Loss& loss) {
  takes_classes_ = loss.TakesClasses();
  takes_rows_ = loss.TakesDistributions();
  const FinalActivation taken_over = loss.absorbs();
  loss_takes_logits_ =
      taken_over != FinalActivation::kOther && taken_over == KindOf(*graph_.nodes().back().layer);
  const Shape& output = graph_.output_shape();
  const bool image = output.rank() == 3;
  if (output.rank() != 1 && !(image && loss.TakesPixels())) {
    return InvalidArgument("the loss needs a network whose output is a vector, not ",
                           output.ToString());
  }
  if (image) takes_rows_ = false;
  DTNN_ASSIGN_OR_RETURN(
      loss_, loss.Bind({.device = context_,
                        .batch = batch_,
                        .outputs = OutputsOf(graph_),
                        .dtype = loss_takes_logits_ ? value_dtypes_[0] : value_dtypes_.back(),
                        .from_logits = loss_takes_logits_,
                        .image = image ? ExtentsOf(output, graph_.format()) : ImageExtents{},
                        .format = graph_.format()}));
  return absl::OkStatus();
}

// The shape of n samples' classes.
Shape Plan::ClassShape(int64_t n) const {
  const Shape& output = graph_.output_shape();
  if (output.rank() != 3) return Shape{n};
  const ImageExtents image = ExtentsOf(output, graph_.format());
  return Shape{n, image.height, image.width};
}

absl::Status Plan::Allocate() {
  const Device device = context_->device();
  for (const auto& [buffer, bytes] :
       {std::pair(&arena_, memory_.arena),
        std::pair(&workspace_, workspaces_ == nullptr ? memory_.workspace : 0)}) {
    absl::StatusOr<std::shared_ptr<Buffer>> memory = Buffer::Allocate(device, bytes);
    if (!memory.ok()) return Oversized(memory.status());
    *buffer = *std::move(memory);
  }
  for (Step& step : steps_) {
    if (step.traits.kept_bytes == 0) continue;
    absl::StatusOr<std::shared_ptr<Buffer>> memory =
        Buffer::Allocate(device, step.traits.kept_bytes);
    if (!memory.ok()) return Oversized(memory.status());
    DTNN_RETURN_IF_ERROR(step.op->Keep(*std::move(memory)));
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (layout_.activation[i].buffer == PlanLayout::kBatch) batch_readers_.push_back(i);
    for (int input : steps_[i].input_nodes) {
      if (layout_.activation[size_t(input)].buffer == PlanLayout::kBatch) {
        batch_readers_.push_back(i);
      }
    }
  }
  const auto create_twins = [&]() -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(
        device_x_, DeviceTwin::Create(*context_, dtype_, graph_.input_shape().Prepend(batch_)));
    if (takes_classes_) {
      DTNN_ASSIGN_OR_RETURN(device_classes_,
                            DeviceTwin::Create(*context_, DType::kInt32, ClassShape(batch_)));
    }
    if (takes_rows_) {
      DTNN_ASSIGN_OR_RETURN(
          device_rows_,
          DeviceTwin::Create(*context_, dtype_, graph_.output_shape().Prepend(batch_)));
    }
    return absl::OkStatus();
  };
  if (const absl::Status status = create_twins(); !status.ok()) return Oversized(status);
  DTNN_ASSIGN_OR_RETURN(device_step_, DeviceNumbers::Create(*context_, DType::kInt64, 1));
  if (IsHalf(value_dtypes_[0])) {
    DTNN_ASSIGN_OR_RETURN(cast_in_, CreateCast(*context_, dtype_, value_dtypes_[0]));
    DTNN_ASSIGN_OR_RETURN(narrow_x_, Tensor::Allocate(device, value_dtypes_[0],
                                                      graph_.input_shape().Prepend(batch_)));
    DTNN_RETURN_IF_ERROR(store_->KeepCopies(*context_, value_dtypes_[0]));
  } else if (value_dtypes_[0] == DType::kUint8) {
    DTNN_ASSIGN_OR_RETURN(
        narrow_x_, Tensor::Allocate(device, DType::kUint8, graph_.input_shape().Prepend(batch_)));
  }
  if (IsHalf(value_dtypes_.back())) {
    DTNN_ASSIGN_OR_RETURN(cast_out_, CreateCast(*context_, value_dtypes_.back(), dtype_));
    DTNN_ASSIGN_OR_RETURN(wide_predictions_,
                          Tensor::Allocate(device, dtype_, graph_.output_shape().Prepend(batch_)));
  }
  DTNN_ASSIGN_OR_RETURN(host_losses_, HostTwin::Create(*context_, dtype_, Shape{batch_}));
  DTNN_ASSIGN_OR_RETURN(host_predictions_,
                        HostTwin::Create(*context_, dtype_, graph_.output_shape().Prepend(batch_)));
  return absl::OkStatus();
}

bool Plan::IsStatistic(int node, const ParameterSpec& parameter) const {
  return !parameter.trainable && !graph_.nodes()[size_t(node)].frozen;
}

void Plan::BindParameters() {
  [[maybe_unused]] int64_t gradients_end = 0;
  for (Step& step : steps_) {
    const std::vector<ParameterSpec>& specs = graph_.nodes()[size_t(step.node)].parameters;
    for (size_t p = 0; p < specs.size(); ++p) {
      // A filter that is multiplied by a scale first is the parameter itself.
      const bool scaled = step.folded_node >= 0 && TraitsOf(context_->device()).scales_filters;
      const bool copied = IsHalf(value_dtypes_[0]) && specs[p].shape.rank() > 1 && !scaled;
      step.parameters.push_back(
          {copied ? store_->Copy(step.node, int(p)) : store_->Value(step.node, int(p)), 0});
      step.is_statistic.push_back(IsStatistic(step.node, specs[p]));
      if (!specs[p].trainable || !training_) continue;
      // The backward pass finishes the arena from its end to its begin.
      const int64_t begin = store_->Offset(step.node, int(p));
      assert(begin >= gradients_end);
      gradients_end = begin + specs[p].shape.NumElements();
      if (step.gradients.empty()) step.first_gradient = begin;
      step.gradients.push_back(store_->Gradient(step.node, int(p)));
    }
    for (const int other : {step.folded_node, step.paired_node}) {
      if (other < 0) continue;
      const std::vector<ParameterSpec>& specs = graph_.nodes()[size_t(other)].parameters;
      for (size_t p = 0; p < specs.size(); ++p) {
        step.parameters.push_back({store_->Value(other, int(p)), 0});
        step.is_statistic.push_back(IsStatistic(other, specs[p]));
        // Final before its turn.
        if (training_ && specs[p].trainable) {
          step.gradients.push_back(store_->Gradient(other, int(p)));
        }
      }
    }
  }
}

Tensor Plan::View(int buffer, DType dtype, const Shape& shape) const {
  return Tensor::View(arena_, layout_.buffers[size_t(buffer)].offset, dtype, shape);
}

// A node's output or its gradient.
Tensor Plan::View(const PlannedValue& value, int node, int64_t n) const {
  const Shape& sample = graph_.nodes()[size_t(node)].output;
  const DType dtype = value_dtypes_[size_t(node)];
  if (value.dense()) return View(value.buffer, dtype, sample.Prepend(n));
  ImageExtents image = ExtentsOf(sample, graph_.format());
  const int64_t channels = std::exchange(image.channels, value.channels);
  return View(value.buffer, dtype, SampleShape(image, graph_.format()).Prepend(n))
      .Channels(value.first_channel, channels, graph_.format());
}

Tensor Plan::Activation(int node, int64_t n) const {
  const PlannedValue& value = layout_.activation[size_t(node)];
  if (value.buffer != PlanLayout::kBatch) return View(value, node, n);
  return x_.Reshaped(graph_.nodes()[size_t(node)].output.Prepend(n));
}

absl::Status Plan::CheckBatch(const Tensor& x, DType dtype, const Shape& sample) const {
  if (x.shape().rank() == sample.rank() + 1 && x.shape().DropFirst() == sample &&
      x.shape()[0] >= 1 && x.shape()[0] <= batch_ && x.dtype() == dtype && x.dense()) {
    return absl::OkStatus();
  }
  return InvalidArgument(x.dense() ? "a batch of shape " : "a pitched batch of shape ",
                         x.shape().ToString(), " and type ", Name(x.dtype()),
                         " does not fit a plan for up to ", batch_, " samples of shape ",
                         sample.ToString(), " and type ", Name(dtype));
}

// To where the ops read it, in their type.
absl::Status Plan::BringValues(const Tensor& x) {
  DTNN_RETURN_IF_ERROR(CheckBatch(x, dtype_, graph_.input_shape()));
  x_ = x;
  // A conversion takes what is on the device from where it is.
  if (cast_in_ == nullptr || x.device() != context_->device()) {
    DTNN_ASSIGN_OR_RETURN(x_, device_x_.Put(x));
  }
  if (narrow_x_.empty()) return absl::OkStatus();
  const Tensor narrow = narrow_x_.Samples(0, x.shape()[0], TensorFormat::kNHWC);
  const Tensor wide = std::exchange(x_, narrow);
  if (cast_in_ != nullptr) return cast_in_->Run(wide, narrow);
  if (QuantizeTensor(wide, narrow, *int8_types_.values[0])) return absl::OkStatus();
  return absl::InvalidArgumentError("the samples contain NaN, which has no byte");
}

// To the same place: a captured step reads what was brought, in whichever way.
absl::Status Plan::BringBytes(const PlanInput& input) {
  const ByteImagesSpec& spec = *input.spec;
  if (TraitsOf(context_->device()).in_host_memory) {
    return absl::InvalidArgumentError("a plan for the CPU takes values, not the bytes of images");
  }
  if (SampleShape(spec.sample, spec.to) != graph_.input_shape()) {
    return InvalidArgument("bytes that become samples of shape ",
                           SampleShape(spec.sample, spec.to).ToString(),
                           " do not fit a network for shape ", graph_.input_shape().ToString());
  }
  DTNN_RETURN_IF_ERROR(CheckBatch(input.x, DType::kUint8, SampleShape(spec.sample, spec.from)));
  if (device_bytes_ == nullptr || device_bytes_->spec() != input.spec) {
    // What was reserved for values to cross through is more than bytes need.
    device_bytes_.reset();
    device_x_.GiveBack();
    auto twin = ByteTwin::Create(*context_, input.spec, value_dtypes_[0], batch_);
    if (!twin.ok()) {
      return absl::IsResourceExhausted(twin.status()) ? Oversized(twin.status()) : twin.status();
    }
    device_bytes_ = *std::move(twin);
  }
  const int64_t n = input.x.shape()[0];
  x_ = cast_in_ == nullptr ? device_x_.Place(n) : narrow_x_.Samples(0, n, TensorFormat::kNHWC);
  return device_bytes_->Put(input.x, input.changes, x_);
}

absl::Status Plan::BindBatch(const PlanInput& input, int64_t step_number) {
  DTNN_RETURN_IF_ERROR(input.spec == nullptr ? BringValues(input.x) : BringBytes(input));
  const int64_t n = x_.shape()[0];
  step_number_ = step_number;
  if (training_) DTNN_RETURN_IF_ERROR(device_step_.Set<int64_t>({{step_number}}));
  if (n != n_) {
    BindViews(n);
    return absl::OkStatus();
  }
  for (size_t index : batch_readers_) {
    Step& step = steps_[index];
    for (size_t k = 0; k < step.input_nodes.size(); ++k) {
      step.inputs[k] = Activation(step.input_nodes[k], n);
    }
    step.output = Activation(step.node, n);
  }
  return absl::OkStatus();
}

// Makes the views of all steps for batches of n samples: ranges of the same memory.
void Plan::BindViews(int64_t n) {
  n_ = n;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const size_t inputs = step.input_nodes.size();
    step.inputs.resize(inputs);
    for (size_t k = 0; k < inputs; ++k) step.inputs[k] = Activation(step.input_nodes[k], n);
    step.output = Activation(int(i), n);
    if (layout_.state[i] >= 0) {
      step.state =
          View(layout_.state[i], step.traits.state_dtype, step.traits.state_shape.Prepend(n));
    }
    if (!training_ || layout_.gradient[i].buffer < 0) continue;
    step.dy = View(layout_.gradient[i], int(i), n);
    if (!step.runs_backward) continue;
    step.dx.resize(inputs);
    if (step.accumulate == nullptr) step.accumulate.reset(new bool[inputs]());
    for (size_t k = 0; k < inputs; ++k) {
      const size_t input = size_t(step.input_nodes[k]);
      if (!layout_.needs_gradient[input]) continue;
      step.dx[k] = View(layout_.gradient[input], step.input_nodes[k], n);
      step.accumulate[k] = layout_.accumulate[i][k] != 0;
    }
  }
  losses_ = View(layout_.losses, dtype_, Shape{n});
}

}  // namespace dtnn
