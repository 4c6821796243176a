// A layer in two halves.
//
// `Layer` is an immutable description: what it is called, what shape it makes of its inputs'
// shapes, which parameters it has. It knows no device, no batch and no memory, and may be shared
// between threads. `LayerOp` is that layer bound to a plan: device, batch, dtype, format and phase;
// it holds primitives and runs forward and backward on memory that the plan hands it.
//
// Shapes here are those of one sample, in the tensor format: (h, w, c) or (c, h, w), or
// (features,).

#ifndef DTNN_LAYERS_BASE_LAYER_H_
#define DTNN_LAYERS_BASE_LAYER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/epilogue.h"
#include "kernels/operands/parameter_view.h"
#include "kernels/workspace/workspace.h"
#include "layers/base/attributes.h"
#include "layers/base/initializer.h"
#include "layers/base/rank_exchange.h"
#include "tensor/format.h"
#include "tensor/tensor.h"

namespace dtnn {

// What the tensor format does to a parameter, for files written in the other one. "Features" are
// the elements of the layer's input where that is a vector: those of a flattened image stand in the
// image's order, (h, w, c) or (c, h, w).
enum class ParameterLayout : uint8_t {
  kFixed,        // nothing
  kFilter,       // (in, kh, kw, out) in NHWC, (out, in, kh, kw) in NCHW; likewise without kh and kw
  kFeatures,     // one element per feature
  kFeatureRows,  // one row per feature, and one column per feature of the output
};

// One parameter of a layer: the last part of its weight key, "<id>_<Layer>_<name>".
struct ParameterSpec {
  std::string name;  // "weights", "biases", ...
  Shape shape;
  Initializer initializer;
  bool trainable = true;
  ParameterLayout layout = ParameterLayout::kFixed;
};

class BestOf;
class Layer;

// What a layer is bound to.
struct BindContext {
  DeviceContext* device = nullptr;
  int64_t batch = 0;  // the most samples that a call will bring
  // Of the layer's activations. Where it has 16 bits, so have parameters of more than one axis
  // (weights), which are copies, filters in the order that the device computes with
  // (kernels/conv/filter_copies); vectors and the gradients of all parameters are float32.
  DType dtype = DType::kFloat32;
  // The output is float32 where values have 16 bits: of a softmax that is the last layer.
  bool wide_output = false;
  bool tf32 = false;  // the operands of float32 products may be rounded to TF32
  TensorFormat format = TensorFormat::kNHWC;
  bool training = false;
  // In training: the layer's parameters stay as they are, running statistics too, which take the
  // place of those of a batch. Backward is asked for gradients of inputs alone.
  bool frozen = false;
  bool backward = true;        // false: Backward is never called, although this is training
  bool input_gradient = true;  // false: nor asked for the gradient of any input
  // False: the gradient of a bias, which is the same for all elements of a channel, is known to be
  // 0 and stands in its memory already: Backward leaves that alone.
  bool bias_gradient = true;
  std::vector<Shape> inputs;  // per sample
  Shape output;
  // The image whose elements an output that is a vector has, in the order of the format.
  ImageExtents features_of = {1, 1, 1};
  // The variant of its convolutions; "auto" and the others choose for themselves.
  std::string_view conv_variant = "auto";
  // Chooses for "auto" by timing (kernels/best_of); null: by rule.
  BestOf* best_of = nullptr;
  // Apply what follows in the write-back; only where Layer::absorbs() it. The sum's other term is
  // the last of ForwardArgs::inputs; in training its gradient is the last of BackwardArgs::dx, and
  // may be dy's memory.
  bool fuse_addition = false;
  bool fuse_relu = false;
  // With a fused sum, in training, of a normalisation's op: its other term is what this
  // normalisation makes of the last of the inputs, which the op computes too. Its parameters, their
  // gradients and its input's gradient follow the layer's own. Only where the device pairs
  // normalisations (DeviceTraits), and neither input's gradient is added to another.
  const Layer* fuse_addend = nullptr;
  // Backward applies the gradient of the relu before it too; only where
  // Layer::CanApplyReluGradient().
  bool after_relu = false;
  // Apply this layer in the write-back, before the relu, as its ScaleAndShift; its parameters
  // follow the layer's own in ForwardArgs. Only where Layer::absorbs() a scale, in evaluation,
  // and the device folds it (DeviceTraits). A weight that the scale is multiplied into has the type
  // of the parameters.
  const Layer* fuse_normalization = nullptr;
  Philox random{0, 0};  // the layer's own stream (dropout)
  // In training, the ranks whose samples belong to the same batch; null: this one alone.
  RankExchange* ranks = nullptr;
};

// What a training plan must keep for the backward pass, and where memory may be shared.
struct LayerOpTraits {
  bool backward_reads_input = false;
  bool backward_reads_addend = false;  // the other term of a fused sum
  bool backward_reads_output = false;
  bool is_view = false;           // the output is the input's memory under another shape
  bool forward_in_place = false;  // the output may be the (only) input's memory
  // The output may be the memory of a fused sum's other term, if the op reads that for nothing
  // else.
  bool forward_over_addend = false;
  int backward_in_place = -1;  // the input whose gradient may be dy's memory; -1: none
  // The gradient of the first input may be the output's memory, where it is not added to.
  bool backward_over_output = false;
  // The output is the inputs, images, side by side along the channels: inputs that are views of the
  // output, and their gradients that are views of dy, cost nothing.
  bool joins_channels = false;
  // Backward takes the gradient after a fused sum or relu, and applies theirs; only
  // backward_reads_output reads what comes out of them.
  bool backward_includes_fused = false;
  // Inputs, output and their gradients have no gaps: none is a part of a concatenation.
  bool needs_dense = false;
  bool changes_statistics = false;  // Forward does, in training: parameters that are not trainable
  // Written by Forward in training, read by Backward; per sample, rank 0: none.
  DType state_dtype = DType::kUint8;
  Shape state_shape = {};
  size_t workspace_bytes = 0;
  // What the op keeps from call to call, in memory that Keep brings: filters as its kernels read
  // them, statistics of a batch.
  size_t kept_bytes = 0;
};

struct ForwardArgs {
  std::span<const Tensor> inputs = {};
  Tensor output = {};
  std::span<const ParameterView> parameters = {};
  Tensor state = {};  // (n, state_shape); empty in evaluation
  Workspace workspace = {};
  int64_t step = 0;  // training steps done before this one: advances random streams
  // The same number as one int64 of the device, which work that is queued reads when it runs;
  // empty: `step` alone counts.
  Tensor device_step = {};
};

struct BackwardArgs {
  std::span<const Tensor> inputs;  // valid where traits say that they are read
  Tensor output;                   // likewise
  Tensor dy;                       // nobody else's: may be overwritten
  // One per input; an empty tensor: not wanted. Written in the order of the inputs: one that stands
  // twice among them has one gradient, which the first writes and the second adds to.
  std::span<const Tensor> dx;
  std::span<const bool> accumulate;  // one per input: add to dx instead of overwriting it
  std::span<const ParameterView> parameters;
  // One per trainable parameter, overwritten but for BindContext::bias_gradient; frozen: none.
  std::span<const Tensor> gradients;
  Tensor state;
  Workspace workspace;
  int64_t step = 0;
  Tensor device_step = {};
};

class LayerOp {
 public:
  virtual ~LayerOp() = default;
  virtual LayerOpTraits traits() const = 0;
  // Where there is a choice, what computes it, for people: "forward winograd, backward data gemm".
  virtual std::string Algorithms() const { return ""; }
  // For each of those, what else could compute it, and what could not and why not: a line each.
  virtual std::vector<std::string> Alternatives() const { return {}; }
  // Memory of the op's device for what it keeps, of LayerOpTraits::kept_bytes or more, contents
  // undefined. Called once before the first Forward, unless that is 0.
  virtual absl::Status Keep(std::shared_ptr<Buffer> /*memory*/) { return absl::OkStatus(); }
  virtual absl::Status Forward(const ForwardArgs& args) = 0;
  virtual absl::Status Backward(const BackwardArgs& args) = 0;
};

class Layer {
 public:
  virtual ~Layer() = default;

  // "Conv2D": part of weight keys and of the printed table.
  virtual std::string_view type_name() const = 0;
  // What it was made with, so that a file can hold it; the layer table makes the same layer of them
  // (layers/table/layer_table.h).
  virtual Attributes attributes() const { return {}; }
  // InvalidArgument where the inputs do not fit; the caller adds which layer it was.
  virtual absl::StatusOr<Shape> OutputShape(std::span<const Shape> inputs,
                                            TensorFormat format) const = 0;
  // For inputs that OutputShape accepted.
  virtual std::vector<ParameterSpec> Parameters(std::span<const Shape> /*inputs*/,
                                                TensorFormat /*format*/) const {
    return {};
  }
  virtual absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const = 0;
  // Multiply-adds of one sample's forward pass, the usual measure of a network's work; 0 for layers
  // that only move or compare.
  virtual int64_t MultiplyAdds(std::span<const Shape> /*inputs*/, TensorFormat /*format*/) const {
    return 0;
  }
  // What an op of this layer can do in its write-back for the layers after it: `scale`, a batch
  // normalisation; `add`, the other term of a sum of two; `relu`. The first two in evaluation; the
  // second in training too where this layer is a normalisation.
  virtual Epilogue absorbs() const { return {}; }
  // What this layer is in the write-back of the one before it.
  virtual Epilogue absorbable() const { return {}; }
  // This layer in evaluation, where absorbable() has a scale, with the bias of the one before it
  // (empty: none): scale * a + shift per channel, tensors of the host.
  virtual absl::Status ScaleAndShift(std::span<const ParameterView> /*parameters*/,
                                     const Tensor& /*bias*/, const Tensor& /*scale*/,
                                     const Tensor& /*shift*/) const {
    return absl::UnimplementedError("cannot be computed as a scale and a shift");
  }

  // True where an op of this layer can tell from its own output what a relu before it let through:
  // its elements are elements of its input.
  virtual bool CanApplyReluGradient() const { return false; }
  // True where an op of this layer, which adds what `other` makes of its only input, can compute
  // that too in training (BindContext::fuse_addend).
  virtual bool CanComputeAddend(const Layer& /*other*/) const { return false; }

  // Two cells of the printed table: the shape of the weights or of the pooling window, and
  // settings.
  virtual std::string WeightsCell(std::span<const Shape> inputs, TensorFormat format) const;
  virtual std::string SettingsCell() const { return ""; }
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_LAYER_H_
