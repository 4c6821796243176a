// Operators on the channels of images: some of them, and their order.
//
// A channel shuffle is three operators: a Reshape to (N, groups, channels / groups, h, w), a
// Transpose of the groups and their channels, and a Reshape back.

#include <algorithm>
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
bool AreExtents(const std::vector<int64_t>& asked, std::vector<int64_t> expected, int64_t batch) {
  if (asked.size() != expected.size() + 1 || std::ranges::count(asked, -1) > 1) return false;
  if (asked[0] != -1 && asked[0] != 0 && asked[0] != kBatchExtent &&
      (batch == 0 || asked[0] != batch)) {
    return false;
  }
  return std::ranges::equal(asked.begin() + 1, asked.end(), expected.begin(), expected.end(),
                            [](int64_t a, int64_t b) { return a == b || a == -1; });
}

}  // namespace

absl::Status ImportSliceOfChannels(OperatorReader& op, const SliceBounds& bounds) {
  DTNN_ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op, bounds.axis));
  const auto [start, end] = bounds.In(channels.image.shape[0]);
  if (start == end) {
    return InvalidArgument("takes no channel of an image of ", channels.image.shape.ToString());
  }
  return AddSlice(op, channels.image, start, end - start);
}

absl::Status ImportGroupsOfChannels(OperatorReader& op, const std::vector<int64_t>& shape) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Image(0));
  const int64_t channels = value.shape[0];
  const int64_t asked = shape[1] > 0 ? shape[1] : shape[2] > 0 ? channels / shape[2] : 0;
  if (asked < 1 || channels % asked != 0 ||
      !AreExtents(shape, {asked, channels / asked, value.shape[1], value.shape[2]}, op.batch())) {
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
  if (!AreExtents(shape, {value.shape[0], value.shape[1], value.shape[2]}, op.batch())) {
    return Unimplemented("does not reshape the groups of channels that a Transpose made to ",
                         value.shape.ToString(), " again");
  }
  const int64_t groups = value.groups;
  value.unfinished = Unfinished::kNothing;
  value.groups = 0;
  return op.AddLayer(std::make_shared<ChannelShuffleLayer>(groups), value);
}

}  // namespace dtnn
