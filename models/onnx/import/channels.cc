// Operators on the channels of images: some of them, and their order.
//
// A channel shuffle is three operators: a Reshape to (N, groups, channels / groups, h, w), a
// Transpose of the groups and their channels, and a Reshape back.

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// An image, and its axis of channels among those of a batch.
struct Channels {
  ImportedValue image;
  int64_t axis = 0;
};

absl::StatusOr<Channels> ChannelsOf(OperatorReader& op, int64_t axis) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  const int64_t channels = input.channels_last ? 3 : 1;
  DTNN_ASSIGN_OR_RETURN(axis, AxisOf(axis, 1 + input.shape.rank()));
  if (input.image() && axis == channels) return Channels{input, channels};
  return Unimplemented("divides axis ", axis, " of samples of ", input.shape.ToString(),
                       "; only channels of images are divided");
}

// The output is a slice of the image.
absl::Status AddSlice(OperatorReader& op, const ImportedValue& image, int64_t begin,
                      int64_t count) {
  if (begin == 0 && count == image.shape[0]) {
    op.SetOutput(image);
    return absl::OkStatus();
  }
  return AddElementwise(op, std::make_shared<ChannelSliceLayer>(begin, count),
                        std::span(&image, 1));
}

// The extents that a Reshape asks for, where they are those that are `expected`; one of them may
// be -1, and the batch 0.
bool AreExtents(const std::vector<int64_t>& asked, std::vector<int64_t> expected) {
  if (asked.size() != expected.size() + 1 || std::ranges::count(asked, -1) > 1) return false;
  if (asked[0] < -1 && asked[0] != kBatchExtent) return false;
  return std::ranges::equal(asked.begin() + 1, asked.end(), expected.begin(), expected.end(),
                            [](int64_t a, int64_t b) { return a == b || a == -1; });
}

}  // namespace

absl::Status CheckBounds(const SliceBounds& bounds) {
  if (bounds.start != kBatchExtent && bounds.end != kBatchExtent) return absl::OkStatus();
  return Unimplemented("takes as many channels as the batch has samples, which may be any");
}

absl::Status ImportSliceOfChannels(OperatorReader& op, const SliceBounds& bounds) {
  DTNN_ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op, bounds.axis));
  DTNN_RETURN_IF_ERROR(CheckBounds(bounds));
  const auto [start, end] = bounds.In(channels.image.shape[0]);
  if (start == end) {
    return InvalidArgument("takes no channel of an image of ", channels.image.shape.ToString());
  }
  return AddSlice(op, channels.image, start, end - start);
}

absl::Status ImportSplit(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op, op.Int("axis", 0)));
  const auto outputs = int64_t(op.num_outputs());
  const int64_t count = channels.image.shape[0];
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
  if (!within || int64_t(counts.size()) != outputs || outputs > count ||
      std::accumulate(counts.begin(), counts.end(), int64_t{0}) != count) {
    return InvalidArgument("splits ", count, " channels into ", outputs,
                           " parts whose sizes do not add up to them");
  }
  std::vector<ImportedValue> parts(counts.size());
  int64_t begin = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (op.OutputIsUsed(i)) {
      DTNN_RETURN_IF_ERROR(AddSlice(op, channels.image, begin, counts[i]));
      DTNN_ASSIGN_OR_RETURN(parts[i], op.Output());
    }
    begin += counts[i];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (op.OutputIsUsed(i)) op.SetOutput(parts[i], i);
  }
  return absl::OkStatus();
}

absl::Status ImportGroupsOfChannels(OperatorReader& op, const std::vector<int64_t>& shape) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Image(0));
  const int64_t channels = value.shape[0];
  const int64_t asked = shape[1] > 0 ? shape[1] : shape[2] > 0 ? channels / shape[2] : 0;
  if (asked < 1 || channels % asked != 0 ||
      !AreExtents(shape, {asked, channels / asked, value.shape[1], value.shape[2]})) {
    return Unimplemented("reshapes samples of ", value.shape.ToString(),
                         " to 4 axes that are not groups, channels of a group, height and width");
  }
  value.unfinished = Unfinished::kGroups;
  value.groups = asked;
  op.SetOutput(value);
  return absl::OkStatus();
}

absl::Status ImportShuffledChannels(OperatorReader& op, const std::vector<int64_t>& shape) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(0));
  if (!AreExtents(shape, {value.shape[0], value.shape[1], value.shape[2]})) {
    return Unimplemented("does not reshape the groups of channels that a Transpose made to ",
                         value.shape.ToString(), " again");
  }
  const int64_t groups = value.groups;
  value.unfinished = Unfinished::kNothing;
  value.groups = 0;
  return op.AddLayer(std::make_shared<ChannelShuffleLayer>(groups), value);
}

}  // namespace dtnn
