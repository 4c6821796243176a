// Some of the places along an axis of an image, or all of them under other axes: Gather, Slice and
// Split.

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "layers/flatten.h"
#include "layers/merging/concatenation.h"
#include "layers/pixels/pixel_slice.h"
#include "layers/slice2d.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Of = AxisFactor::Of;

constexpr int64_t kMostSlices = 64;  // of channels in another order

// The output's image with the axes of `seen`, of which `place` is replaced by `axis`, or missing.
absl::Status SetPart(OperatorReader& op, const ImportedValue& seen, int64_t place, const Axis& axis,
                     bool keeps_axis) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  output.axes.clear();
  Axes axes = seen.axes;
  axes[size_t(place)] = axis;
  if (!keeps_axis) axes.erase(axes.begin() + place);
  if (output.shape[1] * output.shape[2] == 1 &&
      axes == Axes{{AxisFactor()}, ChannelAxis(output.shape[0])}) {
    return op.AddLayer(std::make_shared<FlattenLayer>(), output);
  }
  SetAxes(op, output, std::move(axes));
  return absl::OkStatus();
}

// The rows or the columns of an image, as the two members of a pair; nullopt for any other axis.
using Side = int64_t Pair::*;
std::optional<Side> SideOf(const ImportedValue& value, int64_t place) {
  if (!value.image() || value.axes != AxesOfImage(value.shape, value.channels_last)) {
    return std::nullopt;
  }
  const int64_t rows = value.channels_last ? 1 : 2;
  if (place == rows) return &Pair::vertical;
  if (place == rows + 1) return &Pair::horizontal;
  return std::nullopt;
}

int64_t ExtentOf(const ImportedValue& image, Side side) {
  return image.shape[side == &Pair::vertical ? 1 : 2];
}

// Places begin .. end - 1, of which each `step`-th is taken.
void Take(Slice2dOptions& slice, Side side, int64_t begin, int64_t end, int64_t step) {
  slice.begin.*side = begin;
  slice.count.*side = (end - begin - 1) / step + 1;
  slice.step.*side = step;
}

absl::Status AddSlice2d(OperatorReader& op, const ImportedValue& image,
                        const Slice2dOptions& slice) {
  DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<Slice2dLayer>(slice), image));
  DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
  output.channels_last = image.channels_last;
  op.SetOutput(output);
  return absl::OkStatus();
}

// An axis that divides all channels or all pixels, outside of any others that do, or has one place;
// nullopt for any other axis.
std::optional<AxisFactor> OutermostPart(const ImportedValue& value, int64_t place) {
  if (!value.image() || value.axes[size_t(place)].size() > 1) return std::nullopt;
  const Axis& axis = value.axes[size_t(place)];
  const AxisFactor part = axis.empty() ? AxisFactor{Of::kChannels, 1, value.shape[0]} : axis[0];
  const int64_t all = part.of == Of::kChannels ? value.shape[0] : value.shape[1] * value.shape[2];
  if (part.of == Of::kSamples || part.extent * part.step != all) return std::nullopt;
  return part;
}

absl::Status NotDivided(const ImportedValue& value, int64_t place) {
  return Unimplemented("takes a part of axis ", place, " of ",
                       value.image() ? ToText(value.axes) : "samples of " + value.shape.ToString(),
                       "; only rows, columns, channels and pixels of images are divided, the last "
                       "two along the outermost of their axes");
}

absl::Status NotPlaces(const ImportedValue& value, int64_t place, int64_t begin, int64_t end) {
  return InvalidArgument("takes places ", begin, " to ", end - 1, " of axis ", place, " of ",
                         ToText(value.axes));
}

// Some rows or columns of an image of several rows, or some of the outermost parts of the channels
// or pixels: begin .. end - 1 of axis `place`.
absl::Status TakePart(OperatorReader& op, const ImportedValue& value, int64_t place, int64_t begin,
                      int64_t end, bool keeps_axis) {
  if (const auto side = SideOf(value, place); side && value.shape[1] > 1) {
    Slice2dOptions slice;
    Take(slice, *side, begin, end, /*step=*/1);
    DTNN_RETURN_IF_ERROR(AddSlice2d(op, value, slice));
    DTNN_ASSIGN_OR_RETURN(ImportedValue output, op.Output());
    output.axes = AxesOf(output);
    return SetPart(op, output, place, output.axes[size_t(place)], keeps_axis);
  }
  const auto part = OutermostPart(value, place);
  if (!part) return NotDivided(value, place);
  if (begin < 0 || begin >= end || end > part->extent) return NotPlaces(value, place, begin, end);
  // All pixels of an image of several rows, in one: another image.
  const int64_t pixels = value.shape[1] * value.shape[2];
  const bool joins_rows = part->of == Of::kPixels && value.shape[1] > 1 &&
                          value.axes == AxesOfImage({value.shape[0], 1, pixels}, false);
  if (begin == 0 && end == part->extent && !joins_rows) {
    op.SetOutput(value);
    return SetPart(op, value, place, value.axes[size_t(place)], keeps_axis);
  }
  const int64_t first = begin * part->step, count = (end - begin) * part->step;
  Axis axis = ChannelAxis(end - begin, part->step);
  if (part->of == Of::kChannels) {
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<ChannelSliceLayer>(first, count), value));
  } else {
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<PixelSliceLayer>(first, count), value));
    for (AxisFactor& factor : axis) factor.of = Of::kPixels;
  }
  return SetPart(op, value, place, axis, keeps_axis);
}

// The groups of the shuffle that takes channels in that order; 0: none.
int64_t GroupsOf(const std::vector<int64_t>& places, int64_t channels) {
  if (int64_t(places.size()) != channels || channels < 2 || places[1] < 1 ||
      channels % places[1] != 0) {
    return 0;
  }
  const int64_t each = places[1], groups = channels / each;
  for (int64_t i = 0; i < channels; ++i) {
    if (places[size_t(i)] != i % groups * each + i / groups) return 0;
  }
  return groups;
}

// Channels of an image in the order of `places`, some of them perhaps not, or several times: slices
// beside each other.
absl::Status TakeChannels(OperatorReader& op, const ImportedValue& value, int64_t axis,
                          const std::vector<int64_t>& places) {
  if (const int64_t groups = GroupsOf(places, value.shape[0])) {
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<ChannelShuffleLayer>(groups), value));
    return SetPart(op, value, axis, value.axes[size_t(axis)], /*keeps_axis=*/true);
  }
  std::vector<std::pair<int64_t, int64_t>> slices;  // the first channel, how many
  for (const int64_t place : places) {
    if (!slices.empty() && slices.back().first + slices.back().second == place) {
      ++slices.back().second;
    } else if (int64_t(slices.size()) < kMostSlices) {
      slices.emplace_back(place, 1);
    } else {
      return Unimplemented("takes channels in an order of more than ", kMostSlices, " slices");
    }
  }
  std::vector<ImportedValue> parts;
  for (const auto& [begin, count] : slices) {
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<ChannelSliceLayer>(begin, count), value));
    DTNN_ASSIGN_OR_RETURN(parts.emplace_back(), op.Output());
  }
  if (parts.size() > 1) {
    DTNN_RETURN_IF_ERROR(op.AddLayer(std::make_shared<ConcatenationLayer>(), parts));
  }
  return SetPart(op, value, axis, ChannelAxis(int64_t(places.size())), /*keeps_axis=*/true);
}

// Elements of each sample of a batch that is one axis, as as_strided of PyTorch names them.
absl::Status GatherOfSamples(OperatorReader& op, const ImportedValue& value,
                             const WholeNumbers& numbers) {
  const int64_t elements = value.shape.NumElements();
  if (value.axes.size() == 1 && value.axes[0].size() > 1 && value.axes[0][0].of == Of::kSamples &&
      numbers.step == elements) {
    const Axis sample(value.axes[0].begin() + 1, value.axes[0].end());
    const std::vector<int64_t>& dims = numbers.first.dims;
    auto axes = Gathered(sample, {dims.begin() + 1, dims.end()}, numbers.first.integers);
    if (axes) axes->insert(axes->begin(), Axis{value.axes[0][0]});
    if (SetAxes(op, value, std::move(axes))) return absl::OkStatus();
  }
  return Unimplemented("gathers elements of each sample of the axes ", ToText(value.axes),
                       ", by numbers ", numbers.step, " apart from sample to sample; read are all ",
                       elements, " elements of a sample, under other axes");
}

}  // namespace

absl::Status ImportGatherOfImage(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(WholeNumbers numbers, op.Numbers(1));
  if (!value.image()) {
    return Unimplemented("gathers from samples of shape ", value.shape.ToString(),
                         "; places of images are read");
  }
  value.axes = AxesOf(value);
  const auto rank = int64_t(value.axes.size());
  DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(op.Int("axis", 0), rank));
  if (numbers.step != 0) return GatherOfSamples(op, value, numbers);
  const Axis& axis = value.axes[size_t(place)];
  const auto extents = ExtentsOf({axis});
  std::vector<int64_t>& places = numbers.first.integers;
  const std::vector<int64_t>& dims = numbers.first.dims;
  if (numbers.first.real() || !extents || IsOfBatch((*extents)[0]) || places.empty()) {
    return Unimplemented("gathers places of axis ", place, " of ", ToText(value.axes),
                         "; places of the channels or pixels of images are read");
  }
  for (int64_t& at : places) {
    if (at < -(*extents)[0] || at >= (*extents)[0]) {
      return InvalidArgument("takes place ", at, " of axis ", place, " of ", ToText(value.axes));
    }
    if (at < 0) at += (*extents)[0];
  }
  if (dims.empty()) {
    return TakePart(op, value, place, places[0], places[0] + 1, /*keeps_axis=*/false);
  }
  if (value.axes.size() + dims.size() <= kMostImageAxes) {
    if (const auto parts = Gathered(axis, dims, places)) {
      Axes axes = value.axes;
      axes.erase(axes.begin() + place);
      axes.insert(axes.begin() + place, parts->begin(), parts->end());
      SetAxes(op, value, std::move(axes));
      return absl::OkStatus();
    }
  }
  if (dims.size() == 1 && axis == ChannelAxis(value.shape[0])) {
    return TakeChannels(op, value, place, places);
  }
  return Unimplemented("gathers ", places.size(), " places of axis ", place, " of ",
                       ToText(value.axes),
                       "; read are all of them in the order of parts of the axis, and channels in "
                       "any order");
}

namespace {

// How many of `count` places of an axis each output of a Split has.
absl::StatusOr<std::vector<int64_t>> CountsOf(OperatorReader& op, int64_t count) {
  const auto outputs = int64_t(op.num_outputs());
  std::vector<int64_t> counts =
      op.HasAttribute("split") ? op.Ints("split", {}) : std::vector<int64_t>();
  if (op.Has(1)) {
    DTNN_ASSIGN_OR_RETURN(counts, op.Integers(1));
  }
  if (counts.empty()) {
    // Equal parts, but for the last.
    if (op.Int("num_outputs", outputs) != outputs) {
      return InvalidArgument("its attribute \"num_outputs\" is not ", outputs, ", as it has");
    }
    const int64_t each = (count + outputs - 1) / outputs;
    counts.assign(size_t(outputs), each);
    counts.back() = count - each * (outputs - 1);
  }
  const bool within =
      std::ranges::all_of(counts, [&](int64_t part) { return part >= 1 && part <= count; });
  if (within && int64_t(counts.size()) == outputs && outputs <= count &&
      std::accumulate(counts.begin(), counts.end(), int64_t{0}) == count) {
    return counts;
  }
  return InvalidArgument("splits an axis of ", count, " into ", outputs,
                         " parts whose sizes do not add up to it");
}

}  // namespace

absl::Status ImportSplit(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(op.Int("axis", 0), int64_t(value.rank())));
  if (value.image()) value.axes = AxesOf(value);
  const auto side = SideOf(value, place);
  const auto part = OutermostPart(value, place);
  if (!side && !part) return NotDivided(value, place);
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                        CountsOf(op, side ? ExtentOf(value, *side) : part->extent));
  std::vector<ImportedValue> parts(counts.size());
  int64_t begin = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (op.OutputIsUsed(i)) {
      DTNN_RETURN_IF_ERROR(TakePart(op, value, place, begin, begin + counts[i],
                                    /*keeps_axis=*/true));
      DTNN_ASSIGN_OR_RETURN(parts[i], op.Output());
    }
    begin += counts[i];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (op.OutputIsUsed(i)) op.SetOutput(parts[i], i);
  }
  return absl::OkStatus();
}

namespace {

// Whether a Slice takes all samples, however many there are.
bool TakesAllSamples(OperatorReader& op, const ImportedValue& value, int64_t place,
                     const SliceBounds& bounds) {
  if (!value.image() || value.axes[size_t(place)] != Axis{AxisFactor()}) return false;
  const int64_t samples = op.batch() > 0 ? op.batch() : INT32_MAX;
  return bounds.step == 1 && bounds.In(samples) == std::pair(int64_t{0}, samples);
}

}  // namespace

// Rows and columns of one Slice are one layer.
absl::Status ImportSliceOfImage(OperatorReader& op, const std::vector<SliceBounds>& all) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Value(0));
  std::vector<int64_t> axes;
  for (const SliceBounds& bounds : all) axes.push_back(bounds.axis);
  DTNN_RETURN_IF_ERROR(SortedAxes(axes, int64_t(value.rank())).status());
  op.SetOutput(value);
  std::optional<Slice2dOptions> slice;
  for (const SliceBounds& bounds : all) {
    DTNN_ASSIGN_OR_RETURN(const int64_t place, AxisOf(bounds.axis, int64_t(value.rank())));
    if (value.image()) value.axes = AxesOf(value);
    // Columns of one row are its pixels. Export gives steps to rows and columns, not to pixels.
    const auto side = SideOf(value, place);
    if (side && (value.shape[1] > 1 || op.Has(4))) {
      const int64_t extent = ExtentOf(value, *side);
      const auto [begin, end] = bounds.In(extent);
      if (begin >= end) return NotPlaces(value, place, begin, end);
      if (end - begin == extent && bounds.step == 1 && !op.OfOurOwn()) continue;
      if (!slice) slice.emplace();
      Take(*slice, *side, begin, end, bounds.step);
      continue;
    }
    if (TakesAllSamples(op, value, place, bounds)) continue;
    const auto part = OutermostPart(value, place);
    if (!part) return NotDivided(value, place);
    if (bounds.step != 1) {
      return Unimplemented("slices axis ", place, " of ", ToText(value.axes), " in steps of ",
                           bounds.step, "; only rows and columns of images are read so");
    }
    const auto [begin, end] = bounds.In(part->extent);
    DTNN_RETURN_IF_ERROR(TakePart(op, value, place, begin, end, /*keeps_axis=*/true));
    DTNN_ASSIGN_OR_RETURN(value, op.Output());
  }
  return slice ? AddSlice2d(op, value, *slice) : absl::OkStatus();
}

}  // namespace dtnn
