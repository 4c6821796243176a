// Attention as files write it: a product of two images over their channels, the scores; a softmax
// of these over one of the two images; and a product of the result and an image over its pixels.
// Operators see heads as an axis before the last two, or as a part of one with the samples.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "layers/channels/group_softmax.h"
#include "layers/merging/scores.h"
#include "layers/merging/weighted_sum.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Of = AxisFactor::Of;

// An image as one matrix for each sample and head: the last two of its axes.
struct Matrices {
  ImportedValue value;
  Axes axes;

  int64_t pixels() const { return value.shape[1] * value.shape[2]; }
  bool ArePixels(const Axis& axis) const {
    return pixels() == 1 ? axis.empty() : axis == Axis{{Of::kPixels, pixels(), 1}};
  }
  // All channels of a head.
  bool AreChannels(const Axis& axis) const {
    if (axis.empty()) return true;
    return axis.size() == 1 && axis[0].of == Of::kChannels && axis[0].step == 1 &&
           value.shape[0] % axis[0].extent == 0;
  }
  const Axis& row() const { return axes[axes.size() - 2]; }
  const Axis& column() const { return axes.back(); }
  bool PixelsByChannels() const { return ArePixels(row()) && AreChannels(column()); }
  bool ChannelsByPixels() const { return AreChannels(row()) && ArePixels(column()); }
};

int64_t ExtentOf(const Axis& axis) { return axis.empty() ? 1 : axis[0].extent; }

absl::StatusOr<Matrices> MatricesOf(OperatorReader& op, size_t input) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(input));
  if (value.unfinished == Unfinished::kOverRootTwo) {  // a factor of two channels of a head
    value.unfinished = Unfinished::kNothing;
    value.factor = std::sqrt(0.5);
  }
  if (value.factor == 1) {
    op.TakeAnyAxes();
    DTNN_ASSIGN_OR_RETURN(value, op.Value(input));
  }
  const Matrices matrices = {value, value.image() ? AxesOf(value) : Axes()};
  if (matrices.axes.size() >= 3) return matrices;
  return Unimplemented("its input ", input, " is not an image, but a sample of shape ",
                       value.shape.ToString());
}

// The axes before the last two with the channels of a head `step` apart; nullopt unless they are
// the samples and the heads, in one axis or two.
std::optional<Axes> Leading(const Axes& axes, int64_t heads, int64_t step) {
  Axes leading(axes.begin(), axes.end() - 2);
  int64_t seen = 1;
  bool samples = false;
  for (Axis& axis : leading) {
    for (AxisFactor& factor : axis) {
      if (factor.of == Of::kSamples) {
        samples = true;
      } else if (factor.of == Of::kChannels && seen == 1 && factor.extent == heads) {
        seen = heads;
        factor.step = step;
      } else {
        return std::nullopt;
      }
    }
  }
  if (!samples || seen != heads) return std::nullopt;
  return leading;
}

absl::Status NoProduct(const Matrices& a, const Matrices& b) {
  return Unimplemented("multiplies images under the axes ", ToText(a.axes), " and ", ToText(b.axes),
                       "; layers multiply two images over the channels of their heads, which gives "
                       "scores, and weights made of these and an image over its pixels");
}

absl::Status AddProduct(OperatorReader& op, std::shared_ptr<const Layer> layer,
                        const Matrices& first, const Matrices& second, Axes axes) {
  const ImportedValue inputs[] = {first.value, second.value};
  DTNN_RETURN_IF_ERROR(op.AddLayer(std::move(layer), inputs));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue output, op.Output());
  SetAxes(op, output, std::move(axes));
  return absl::OkStatus();
}

absl::Status AddScores(OperatorReader& op, const Matrices& queries, const Matrices& keys) {
  const int64_t depth = ExtentOf(queries.column()), heads = queries.value.shape[0] / depth;
  const auto leading = Leading(queries.axes, heads, keys.pixels());
  if (!leading || leading != Leading(keys.axes, heads, keys.pixels()) ||
      ExtentOf(keys.row()) != depth) {
    return NoProduct(queries, keys);
  }
  Axes axes = *leading;
  axes.push_back(queries.row());
  axes.push_back(ChannelAxis(keys.pixels()));
  const ScoresOptions options = {.heads = heads,
                                 .factor = queries.value.factor * keys.value.factor};
  return AddProduct(op, std::make_shared<ScoresLayer>(options), queries, keys, std::move(axes));
}

// `turned`: the product is of the transposed matrices, the values first.
absl::Status AddWeightedSum(OperatorReader& op, const Matrices& weights, const Matrices& values,
                            bool turned) {
  op.TakeAnyAxes();
  for (const size_t input : {size_t{0}, size_t{1}}) {
    DTNN_RETURN_IF_ERROR(op.Value(input).status());  // without a factor
  }
  const Axis &of_weights = turned ? weights.row() : weights.column(),
             &of_values = turned ? values.row() : values.column();
  const int64_t depth = ExtentOf(of_values), heads = values.value.shape[0] / depth;
  const auto leading = Leading(weights.axes, heads, depth);
  if (!leading || leading != Leading(values.axes, heads, depth) ||
      ExtentOf(of_weights) != values.pixels()) {
    return turned ? NoProduct(values, weights) : NoProduct(weights, values);
  }
  Axes axes = *leading;
  axes.push_back(turned ? of_values : weights.row());
  axes.push_back(turned ? weights.column() : of_values);
  return AddProduct(op, std::make_shared<WeightedSumLayer>(heads), weights, values,
                    std::move(axes));
}

}  // namespace

absl::Status ImportMatMulOfAxes(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const Matrices a, MatricesOf(op, 0));
  DTNN_ASSIGN_OR_RETURN(const Matrices b, MatricesOf(op, 1));
  if (a.PixelsByChannels() && b.ChannelsByPixels()) return AddScores(op, a, b);
  if (a.PixelsByChannels() && b.PixelsByChannels()) return AddWeightedSum(op, a, b, false);
  if (a.ChannelsByPixels() && b.ChannelsByPixels()) return AddWeightedSum(op, b, a, true);
  return NoProduct(a, b);
}

absl::Status AddSoftmaxOfOne(OperatorReader& op, const ImportedValue& image) {
  return AddElementwise(op, std::make_shared<GroupSoftmaxLayer>(image.shape[0]),
                        std::span(&image, 1));
}

absl::Status ImportSoftmaxOfAxes(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.Value(0));
  const auto rank = int64_t(value.axes.size());
  DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(op.Int("axis", op.SoftmaxAxis()), rank));
  const Axis& axis = value.axes[size_t(place)];
  const bool flattens = op.SoftmaxFlattens() && place + 1 != rank;
  if (axis.empty() && !flattens) return AddSoftmaxOfOne(op, value);
  const bool of_channels = axis.size() == 1 && axis[0].of == Of::kChannels && axis[0].step == 1 &&
                           value.shape[0] % axis[0].extent == 0;
  if (!of_channels || flattens) {
    return Unimplemented(
        "is a softmax over axis ", place, " of ", ToText(value.axes),
        "; layers have one over the channels of an image, or of a head: of scores, "
        "those of the second factor of the product");
  }
  return AddElementwise(op, std::make_shared<GroupSoftmaxLayer>(value.shape[0] / axis[0].extent),
                        std::span(&value, 1));
}

bool AreLatestScores(OperatorReader& op, size_t input) {
  const auto value = op.RawValue(input);
  return value.ok() && op.network().LayerOf(*value).type_name() == "ScoresBlock" &&
         op.network().IsLatest(*value) && op.IsLastReader(input);
}

absl::Status ImportFactorOfAxes(OperatorReader& op) {
  const size_t constant = op.IsConstant(0) ? 0 : 1;
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(1 - constant));
  if (value.unfinished != Unfinished::kNothing) return op.Value(1 - constant).status();
  const auto values = op.Constant(constant);
  const bool divides = op.type() == "Div";
  if (!values.ok() || !values->real() || values->count() != 1 || (divides && constant == 0) ||
      values->dims.size() > value.rank()) {
    return Unimplemented("computes with an image under the axes ", ToText(value.axes),
                         " and other than one number");
  }
  const double number = ShortestReal(values->reals[0]), factor = divides ? 1 / number : number;
  if (!std::isfinite(factor)) return InvalidArgument("multiplies by ", factor);
  NetworkMaker& network = op.network();
  if (AreLatestScores(op, 1 - constant)) {
    const Attributes attributes = network.LayerOf(value).attributes();
    AttributeReader read(attributes);
    const ScoresOptions options = {.heads = read.Int("heads"),
                                   .factor = read.Real("factor") * factor};
    network.ReplaceLatest(std::make_shared<ScoresLayer>(options));
  } else {
    value.factor *= factor;
  }
  op.SetOutput(value);
  return absl::OkStatus();
}

}  // namespace dtnn
