// Pixels as the tokens of vision transformers: class tokens before them, and embeddings of their
// positions.

#include <span>
#include <utility>
#include <vector>

#include "layers/pixels/class_token.h"
#include "layers/pixels/position_embedding.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Of = AxisFactor::Of;

// How many tokens of all channels `tokens` has along axis `place` of the image; 0: other numbers.
int64_t CountTokens(const TensorValues& tokens, const Axes& axes, int64_t place, int64_t channels) {
  const Axis batch = {AxisFactor()};
  if (!tokens.real() || tokens.dims.size() != axes.size() || axes[0] != batch) return 0;
  int64_t seen = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (int64_t(i) == place) continue;
    const bool samples = axes[i] == batch;
    if (!samples && !axes[i].empty() && axes[i] != ChannelAxis(channels)) return 0;
    const int64_t extent = samples || axes[i].empty() ? 1 : channels;
    if (tokens.dims[i] != extent) return 0;
    seen *= extent;
  }
  const int64_t count = tokens.dims[size_t(place)];
  return seen == channels ? count : 0;
}

// The place of an element along an axis.
int64_t PlaceAlong(const Axis& axis, int64_t channel, int64_t pixel) {
  int64_t place = 0;
  for (const AxisFactor& factor : axis) {
    const int64_t at = factor.of == Of::kChannels ? channel : pixel;
    place = place * factor.extent + at / factor.step % factor.extent;
  }
  return place;
}

}  // namespace

absl::Status ImportClassTokens(OperatorReader& op) {
  op.TakeAnyAxes();
  if (op.num_inputs() != 2 || !op.IsConstant(0)) {
    return Unimplemented(
        "joins constants with what the network computes; only class tokens before the pixels of an "
        "image can be read");
  }
  DTNN_ASSIGN_OR_RETURN(const TensorValues tokens, op.ConstantOfEachSample(0));
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(1));
  if (!value.image()) {
    return Unimplemented("joins constants with samples of ", value.shape.ToString());
  }
  Axes axes = AxesOf(value);
  DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(op.Int("axis", 1), int64_t(axes.size())));
  const int64_t channels = value.shape[0], pixels = value.shape[1] * value.shape[2];
  const Axis all = pixels == 1 ? Axis() : Axis{{Of::kPixels, pixels, 1}};
  const int64_t count = axes[size_t(place)] == all ? CountTokens(tokens, axes, place, channels) : 0;
  if (count < 1) {
    return Unimplemented("joins a constant of shape ", tokens.ShapeText(), " with the axes ",
                         ToText(axes), " along axis ", place,
                         "; class tokens have all channels, and stand before all pixels, which are "
                         "one axis");
  }
  bool channels_follow = false;
  for (size_t i = size_t(place) + 1; i < axes.size(); ++i) channels_follow |= tokens.dims[i] > 1;
  std::vector<float> elements;
  for (int64_t token = 0; token < count; ++token) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      elements.push_back(tokens.reals[size_t(channels_follow ? token * channels + channel
                                                             : channel * count + token)]);
    }
  }
  DTNN_RETURN_IF_ERROR(
      op.AddLayer(std::make_shared<ClassTokenLayer>(count), value, {std::move(elements)}));
  DTNN_ASSIGN_OR_RETURN(value, op.Output());
  axes[size_t(place)] = {{Of::kPixels, pixels + count, 1}};
  SetAxes(op, value, std::move(axes));
  return absl::OkStatus();
}

bool ArePositions(OperatorReader& op, size_t constant, const ImportedValue& value) {
  const auto values = op.Constant(constant);
  return value.image() && values.ok() && values->real() &&
         values->count() == value.shape.NumElements() &&
         (value.shape[1] * value.shape[2] > 1 || !TakesBias(op, value));
}

absl::Status ImportPositions(OperatorReader& op, size_t constant, const ImportedValue& value) {
  DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(constant));
  const Axes axes = AxesOf(value);
  const size_t rank = values.dims.size();
  std::vector<int64_t> steps(rank);  // from a place along an axis to the next
  int64_t step = 1;
  bool fits = rank <= axes.size();
  for (size_t i = rank; i > 0 && fits; --i) {
    const auto extents = ExtentsOf({axes[axes.size() - rank + i - 1]});
    const int64_t extent = values.dims[i - 1];
    fits = extents && extent == (IsOfBatch((*extents)[0]) ? 1 : (*extents)[0]);
    steps[i - 1] = extent == 1 ? 0 : step;
    step *= extent;
  }
  if (!fits) {
    return Unimplemented(
        "adds a constant of shape ", values.ShapeText(), " to an image under the ", "axes ",
        ToText(axes), "; an embedding of positions has one element for each element of a sample");
  }
  const int64_t channels = value.shape[0], pixels = value.shape[1] * value.shape[2];
  std::vector<float> embedding;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      int64_t at = 0;
      for (size_t i = 0; i < rank; ++i) {
        if (steps[i] == 0) continue;
        at += steps[i] * PlaceAlong(axes[axes.size() - rank + i], channel, pixel);
      }
      embedding.push_back(values.reals[size_t(at)]);
    }
  }
  DTNN_RETURN_IF_ERROR(AddElementwise(op, std::make_shared<PositionEmbeddingLayer>(),
                                      std::span(&value, 1), {std::move(embedding)}));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue sum, op.Output());
  op.AddNote(StrCat("Layer ", Quoted(op.network().NameOf(sum)),
                    " adds a constant to each element, as an embedding of positions. Training "
                    "changes it, unless the layer is frozen."));
  return absl::OkStatus();
}

}  // namespace dtnn
