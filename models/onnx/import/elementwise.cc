// Operators without weights whose results are as large as their inputs, and those that join paths.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "layers/activation.h"
#include "layers/channels/prelu.h"
#include "layers/dropout.h"
#include "layers/flatten.h"
#include "layers/merging/addition.h"
#include "layers/merging/concatenation.h"
#include "layers/softmax.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kMostAxes = 64;  // of a shape

// All inputs as images, or all as features, in one order.
absl::StatusOr<std::vector<ImportedValue>> Alike(OperatorReader& op) {
  std::vector<ImportedValue> inputs;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(i));
    if (i > 0 && (value.channels_last != inputs[0].channels_last ||
                  value.rows_first != inputs[0].rows_first || value.axes != inputs[0].axes)) {
      return Unimplemented("joins values with channels first and last, or under different axes");
    }
    inputs.push_back(value);
  }
  if (inputs.empty()) return InvalidArgument("has no inputs");
  return inputs;
}

}  // namespace

absl::StatusOr<double> RealGiven(OperatorReader& op, std::string_view attribute, size_t input,
                                 double otherwise) {
  const double given = op.Real(attribute, otherwise);
  if (!op.Has(input)) return given;
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(input));
  if (values.real() && values.count() == 1) return ShortestReal(values.reals[0]);
  return InvalidArgument("its input ", input, " is not one real number");
}

absl::Status AddElementwise(OperatorReader& op, std::shared_ptr<const Layer> layer,
                            std::span<const ImportedValue> inputs,
                            NetworkMaker::Parameters parameters, int weights) {
  DTNN_RETURN_IF_ERROR(op.AddLayer(std::move(layer), inputs, std::move(parameters), weights));
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  output.channels_last = inputs[0].channels_last;
  output.rows_first = inputs[0].rows_first;
  output.axes = inputs[0].axes;
  if (output.rows_first) {
    return Unimplemented(
        "reads features that were flattened with channels last; only a matrix "
        "product takes these");
  }
  op.SetOutput(output);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> AxisOf(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return InvalidArgument("names axis ", axis, " of ", rank, " axes");
}

absl::StatusOr<std::vector<int64_t>> SortedAxes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) {
    DTNN_ASSIGN_OR_RETURN(axis, AxisOf(axis, rank));
  }
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  if (twice == axes.end()) return axes;
  return InvalidArgument("names axis ", *twice, " twice");
}

absl::StatusOr<std::vector<int64_t>> AxesGiven(OperatorReader& op) {
  if (op.Has(1)) return op.Integers(1);
  return op.HasAttribute("axes") ? op.Ints("axes", {}) : std::vector<int64_t>();
}

absl::Status ImportActivation(OperatorReader& op, ActivationKind kind,
                              const ActivationNumbers& numbers) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  return AddElementwise(op, std::make_shared<ActivationLayer>(kind, numbers), std::span(&input, 1));
}

absl::Status ImportRelu(OperatorReader& op) { return ImportActivation(op, ActivationKind::kRelu); }
absl::Status ImportSigmoid(OperatorReader& op) {
  return ImportActivation(op, ActivationKind::kSigmoid);
}
absl::Status ImportTanh(OperatorReader& op) { return ImportActivation(op, ActivationKind::kTanh); }
absl::Status ImportAtanh(OperatorReader& op) {
  return ImportActivation(op, ActivationKind::kArctanh);
}
absl::Status ImportHardSwish(OperatorReader& op) {
  return ImportActivation(op, ActivationKind::kHardSwish);
}
absl::Status ImportMish(OperatorReader& op) { return ImportActivation(op, ActivationKind::kMish); }

absl::Status ImportLeakyRelu(OperatorReader& op) {
  return ImportActivation(op, ActivationKind::kLeakyRelu, {.slope = op.Real("alpha", 0.01)});
}

absl::Status ImportElu(OperatorReader& op) {
  return ImportActivation(op, ActivationKind::kElu, {.alpha = op.Real("alpha", 1)});
}

absl::Status ImportPRelu(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> slopes, EachOf(op, 1, input, "slope"));
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(1));
  const bool per_channel = values.count() > 1;
  if (!per_channel) slopes.resize(1);
  return AddElementwise(op, std::make_shared<PReluLayer>(per_channel), std::span(&input, 1),
                        {std::move(slopes)}, /*weights=*/1);
}

absl::Status ImportHardSigmoid(OperatorReader& op) {
  const double alpha = op.Real("alpha", 0.2), beta = op.Real("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) > 1e-6 || std::abs(beta - 0.5) > 1e-6) {
    return Unimplemented("its attributes \"alpha\" and \"beta\" are ", alpha, " and ", beta,
                         "; the layer has 1/6 and 0.5, as PyTorch has");
  }
  return ImportActivation(op, ActivationKind::kHardSigmoid);
}

absl::Status ImportClip(OperatorReader& op) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity(),
                   kMost = std::numeric_limits<float>::max();
  DTNN_ASSIGN_OR_RETURN(const double low, RealGiven(op, "min", 1, -kInfinite));
  DTNN_ASSIGN_OR_RETURN(const double high, RealGiven(op, "max", 2, kInfinite));
  if (low == 0 && high == 6) return ImportActivation(op, ActivationKind::kRelu6);
  if (low == 0 && high > 1e30) return ImportActivation(op, ActivationKind::kRelu);
  return ImportActivation(op, ActivationKind::kClip,
                          {.low = std::max(low, -kMost), .high = std::min(high, kMost)});
}

absl::Status ImportDropout(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const double rate, RealGiven(op, "ratio", 1, 0.5));
  op.Int("seed", 0);
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(const TensorValues training, op.Constant(2));
    if (training.integers != std::vector<int64_t>{0}) {
      return Unimplemented("drops in evaluation too; export the model in evaluation mode");
    }
  }
  if (op.OutputIsUsed(1)) return Unimplemented("its second output, the mask, is used");
  return AddElementwise(op, std::make_shared<DropoutLayer>(rate), std::span(&input, 1));
}

absl::Status ImportIdentity(OperatorReader& op) {
  if (!op.IsConstant(0)) DTNN_RETURN_IF_ERROR(op.RawValue(0).status());
  op.ForwardInput(0);
  return absl::OkStatus();
}

absl::Status ImportSoftmax(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue input, op.Value(0));
  const int64_t rank = 1 + input.shape.rank();
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", op.SoftmaxAxis()), rank));
  const int64_t channels = input.channels_last ? rank - 1 : 1;
  if (input.image() && axis != channels && AxesOf(input)[size_t(axis)].empty() &&
      !(op.SoftmaxFlattens() && axis + 1 != rank)) {
    return AddSoftmaxOfOne(op, input);
  }
  if (input.image() && input.shape[1] * input.shape[2] == 1) {  // one pixel: a vector
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<FlattenLayer>(), input));
    DTNN_ASSIGN_OR_RETURN(input, op.Output());
  }
  if (axis != channels || (input.image() && op.SoftmaxFlattens())) {
    return Unimplemented("is a softmax over axis ", axis, " of ", rank,
                         "; the layer takes one over the features of a sample, or over the "
                         "channels of an image");
  }
  return AddElementwise(op, std::make_shared<SoftmaxLayer>(), std::span(&input, 1));
}

// Logits differ from it by a number for each sample, which a softmax takes away again.
absl::Status ImportLogSoftmax(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  const int64_t rank = 1 + input.shape.rank();
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", op.SoftmaxAxis()), rank));
  const bool flattens = input.image() && op.SoftmaxFlattens();
  if (!op.MakesTheOutput() || axis != (input.channels_last ? rank - 1 : 1) || flattens) {
    return Unimplemented(
        "is read as the last operator alone, over the features of a sample or the channels of an "
        "image; leave it out, and import with softmax as the final activation");
  }
  op.AddNote(StrCat("Node ", Quoted(op.name()),
                    " (LogSoftmax) is left out: the network ends in logits, of which the final "
                    "activation softmax makes probabilities."));
  op.SetOutput(input);
  return absl::OkStatus();
}

absl::Status ImportAdd(OperatorReader& op) {
  if (op.IsConstant(0) && op.IsConstant(1)) return ImportArithmetic(op);
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  if (step) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const bool is_first, ImportPreprocessing(op));
  if (is_first) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const bool is_beta, ImportGammaOrBeta(op));
  if (is_beta) return absl::OkStatus();
  if (op.IsConstant(0) || op.IsConstant(1)) return ImportBias(op);
  return ImportSum(op);
}

absl::Status ImportSum(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<ImportedValue> inputs, Alike(op));
  if (inputs.size() == 1) {
    op.SetOutput(inputs[0]);
    return absl::OkStatus();
  }
  return AddElementwise(op, std::make_shared<AdditionLayer>(), inputs);
}

absl::Status ImportConcat(OperatorReader& op) {
  size_t constants = 0;
  for (size_t i = 0; i < op.num_inputs(); ++i) constants += op.IsConstant(i) ? 1 : 0;
  if (constants > 0 && constants < op.num_inputs()) return ImportClassTokens(op);
  if (constants > 0) {  // of a shape
    std::vector<int64_t> all;
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> part, op.Integers(i));
      all.insert(all.end(), part.begin(), part.end());
      if (all.size() > kMostAxes) return Unimplemented("joins constants that are not a shape");
    }
    op.SetOutput(TensorValues::OfIntegers(std::move(all)));
    return AxisOf(op.Int("axis", 0), 1).status();
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<ImportedValue> inputs, Alike(op));
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", 1), 1 + inputs[0].shape.rank()));
  if (axis != (inputs[0].channels_last ? 3 : 1)) {
    return Unimplemented("joins along axis ", axis, "; the layer joins channels");
  }
  if (inputs.size() == 1) {
    op.SetOutput(inputs[0]);
    return absl::OkStatus();
  }
  return AddElementwise(op, std::make_shared<ConcatenationLayer>(), inputs);
}

}  // namespace dtnn
