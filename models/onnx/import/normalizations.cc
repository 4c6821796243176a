// Normalisations.

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Norm = GroupNormalizationLayer;

// `gamma` and `beta` come from inputs 1 and 2; without the latter, beta is 0.
absl::Status AddNormalization(OperatorReader& op, const GroupNormalizationOptions& options,
                              const ImportedValue& input, std::vector<float> gamma,
                              std::vector<float> beta) {
  NetworkMaker::Parameters parameters(2);
  parameters[Norm::kGamma] = std::move(gamma);
  parameters[Norm::kBeta] = std::move(beta);
  return AddElementwise(op, std::make_shared<Norm>(options), std::span(&input, 1),
                        std::move(parameters), /*weights=*/1);
}

// A number per channel: a tensor of `shape`, with any axes of one element before it. ONNX aligns
// shapes at their ends, so that (C) is a number per column where channels do not come last.
absl::StatusOr<std::vector<float>> ChannelsOf(OperatorReader& op, size_t input,
                                              std::vector<int64_t> shape) {
  const int64_t channels = shape.front();
  DTNN_ASSIGN_OR_RETURN(TensorValues values, op.Constant(input));
  const auto without_ones = [](const std::vector<int64_t>& dims) {
    return std::vector(std::ranges::find_if(dims, [](int64_t extent) { return extent != 1; }),
                       dims.end());
  };
  if (values.real() && without_ones(values.dims) == without_ones(shape)) {
    return std::move(values.reals);
  }
  return Unimplemented("its input ", input, " has shape ", values.ShapeText(),
                       "; layers have one number for each of the ", channels,
                       " channels: ", TensorValues{.dims = std::move(shape)}.ShapeText());
}

// A number per channel, of one per group.
std::vector<float> ForEachChannel(const std::vector<float>& groups, int64_t channels) {
  std::vector<float> each;
  for (const float value : groups) each.insert(each.end(), size_t(channels) / groups.size(), value);
  return each;
}

}  // namespace

absl::Status ImportBatchNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  if (op.Int("training_mode", 0) != 0) {
    return Unimplemented(
        "normalises by the statistics of each batch; export the model in "
        "evaluation mode");
  }
  if (op.Int("spatial", 1) != 1) return Unimplemented("its attribute \"spatial\" is not 1");
  if (input.channels_last || input.rows_first) {
    return Unimplemented("its input has channels last; the operator takes channels first");
  }
  NetworkMaker::Parameters parameters(4);
  using Layer = BatchNormalizationLayer;
  const std::pair<size_t, Layer::Parameter> places[] = {
      {1, Layer::kGamma}, {2, Layer::kBeta}, {3, Layer::kRunningMean}, {4, Layer::kRunningVar}};
  for (const auto& [place, parameter] : places) {
    DTNN_ASSIGN_OR_RETURN(parameters[parameter], op.Vector(place, input.shape[0]));
  }
  for (const float variance : parameters[Layer::kRunningVar]) {
    if (variance >= 0 || std::isnan(variance)) continue;  // Finish refuses NaN
    return InvalidArgument("its running variance has the negative number ", variance);
  }
  const BatchNormalizationOptions options = {.momentum = op.Real("momentum", 0.9),
                                             .epsilon = op.Real("epsilon", 1e-5)};
  return op.AddLayer(std::make_shared<Layer>(options), input, std::move(parameters),
                     /*weights=*/1);
}

absl::Status ImportLayerNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(op.Int("axis", -1), 1 + input.shape.rank()));
  if (op.Int("stash_type", 1) != 1) return Unimplemented("its attribute \"stash_type\" is not 1");
  if (op.OutputIsUsed(1) || op.OutputIsUsed(2)) {
    return Unimplemented("its mean and deviation are used; layers have one output");
  }
  const bool per_pixel = input.channels_last && axis == 3;
  if (!input.image() || (!per_pixel && (input.channels_last || axis != 1))) {
    return Unimplemented(
        "normalises over other axes than the channels, which come last, or all of an image, whose "
        "channels come first");
  }
  const int64_t channels = input.shape[0];
  std::vector<int64_t> shape = {channels};
  if (!per_pixel) shape.insert(shape.end(), {1, 1});
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, ChannelsOf(op, 1, shape));
  std::vector<float> beta(static_cast<size_t>(channels));
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(beta, ChannelsOf(op, 2, shape));
  }
  return AddNormalization(op, {.per_pixel = per_pixel, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

absl::Status ImportInstanceNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  const int64_t channels = input.shape[0];
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, ChannelsOf(op, 1, {channels}));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> beta, ChannelsOf(op, 2, {channels}));
  return AddNormalization(op, {.groups = channels, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

absl::Status ImportInstanceNormalizationOfGroups(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  const int64_t channels = input.shape[0];
  const Axes& axes = input.axes;
  const int64_t groups = axes.size() < 2 || axes[1].empty() ? 1 : axes[1][0].extent;
  const auto expected =
      Reshaped(AxesOfImage(input.shape, /*channels_last=*/false), {kBatchExtent, groups, -1});
  if (channels % groups != 0 || axes != expected) {
    return Unimplemented("normalises over the axes ", ToText(axes), " of an image of ", channels,
                         " channels; expected (N, groups, all else), with groups of channels");
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<float> gamma, ChannelsOf(op, 1, {groups}));
  DTNN_ASSIGN_OR_RETURN(const std::vector<float> beta, ChannelsOf(op, 2, {groups}));
  DTNN_RETURN_IF_ERROR(AddNormalization(op, {.groups = groups, .epsilon = op.Real("epsilon", 1e-5)},
                                        input, ForEachChannel(gamma, channels),
                                        ForEachChannel(beta, channels)));
  const auto are = [](const std::vector<float>& numbers, float all) {
    return std::ranges::all_of(numbers, [&](float number) { return number == all; });
  };
  if (are(gamma, 1) && are(beta, 0)) op.awaits_gamma() = op.Output()->node;
  return absl::OkStatus();
}

absl::StatusOr<bool> ImportGammaOrBeta(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1, input = 1 - constant;
  const bool is_gamma = op.type() == "Mul";
  const auto value = op.RawValue(input);
  if (!value.ok() || !value->plain() ||
      value->node != (is_gamma ? op.awaits_gamma() : op.awaits_beta()) ||
      !op.network().IsLatest(*value) || !op.IsLastReader(input)) {
    return false;
  }
  const auto values = op.Constant(constant);
  if (!values.ok() || !values->real() || values->dims.empty() ||
      values->dims.size() > value->rank()) {
    return false;
  }
  const int64_t channels = value->shape[0];
  std::vector<float> numbers(size_t(channels), values->count() == 1 ? values->reals[0] : 0);
  if (values->count() != 1) {
    DTNN_ASSIGN_OR_RETURN(numbers, EachOf(op, constant, *value, is_gamma ? "factor" : "bias"));
  }
  std::ranges::copy(numbers,
                    op.network().ParameterOfLatest(is_gamma ? Norm::kGamma : Norm::kBeta).begin());
  op.awaits_beta() = is_gamma ? value->node : -1;
  op.awaits_gamma() = -1;
  op.SetOutput(*value);
  return true;
}

// Scale and bias have a number per channel, or, in opset 18, per group.
absl::Status ImportGroupNormalization(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  const int64_t channels = input.shape[0], groups = op.Int("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return InvalidArgument("its attribute \"num_groups\" is ", groups, "; expected a divisor of ",
                           channels);
  }
  if (op.Int("stash_type", 1) != 1) return Unimplemented("its attribute \"stash_type\" is not 1");
  const auto vector = [&](size_t place) -> absl::StatusOr<std::vector<float>> {
    DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(place));
    if (values.count() != groups || groups == channels) return ChannelsOf(op, place, {channels});
    if (!values.real()) return InvalidArgument("its input ", place, " has whole numbers");
    return ForEachChannel(values.reals, channels);
  };
  DTNN_ASSIGN_OR_RETURN(std::vector<float> gamma, vector(1));
  DTNN_ASSIGN_OR_RETURN(std::vector<float> beta, vector(2));
  return AddNormalization(op, {.groups = groups, .epsilon = op.Real("epsilon", 1e-5)}, input,
                          std::move(gamma), std::move(beta));
}

namespace {

// y = (x + offset) * scale, of each channel.
Normalization NormalizationOf(std::string_view type, std::vector<float> constants) {
  Normalization made;
  if (std::ranges::adjacent_find(constants, std::ranges::not_equal_to()) == constants.end()) {
    constants.resize(1);
  }
  for (const float constant : constants) {
    const double number = ShortestReal(constant);
    made.offset.push_back(type == "Add" ? number : type == "Sub" ? -number : 0);
    made.scale.push_back(type == "Mul" ? number : type == "Div" ? 1 / number : 1);
  }
  return made;
}

}  // namespace

absl::StatusOr<bool> ImportPreprocessing(OperatorReader& op) {
  const bool turns = op.type() == "Add" || op.type() == "Mul";  // the order does not matter
  const size_t input = turns && op.IsConstant(0) ? 1 : 0, constant = 1 - input;
  if (op.OfOurOwn() || !op.IsConstant(constant) || op.IsConstant(input)) return false;
  const auto value = op.RawValue(input);
  if (!value.ok() || !value->plain() || !value->image() ||
      op.network().LayerOf(*value).type_name() != "Input" || !op.network().IsLatest(*value) ||
      !op.IsLastReader(input)) {
    return false;
  }
  const auto constants = EachOf(op, constant, *value, "factor");
  if (!constants.ok()) return false;
  const Normalization made = NormalizationOf(op.type(), *constants);
  if (!CheckNormalization(made, value->shape[0]).ok()) return false;  // times 0
  op.Normalize(made);
  op.SetOutput(*value);
  return true;
}

std::string TextOf(const Normalization& normalization) {
  std::string mean, std;
  for (const double offset : normalization.offset) {
    StrAppend(&mean, mean.empty() ? "" : ",", offset == 0 ? 0 : -offset);
  }
  for (const double scale : normalization.scale) {
    StrAppend(&std, std.empty() ? "" : ",", 1 / scale);
  }
  return StrCat("mean ", mean, " and std ", std);
}

}  // namespace dtnn
