// Poolings, and paddings by rule.

#include <algorithm>
#include <array>
#include <utility>

#include "layers/flatten.h"
#include "layers/pool2d.h"
#include "models/onnx/import_operators.h"
#include "tensor/errors.h"
#include "tensor/format.h"

namespace dtnn {
namespace {

constexpr int64_t kMostPadding = int64_t{1} << 24;
constexpr int64_t kMostStep = int64_t{1} << 24;  // so that sums and products fit 64 bits

// What TensorFlow calls SAME: as many outputs as strides in the image.
std::pair<int64_t, int64_t> SamePads(int64_t extent, int64_t kernel, int64_t stride,
                                     int64_t dilation, bool more_after) {
  const int64_t outputs = (extent + stride - 1) / stride;
  const int64_t all =
      std::max<int64_t>(0, (outputs - 1) * stride + dilation * (kernel - 1) + 1 - extent);
  const int64_t less = all / 2, more = all - less;
  return more_after ? std::pair(less, more) : std::pair(more, less);
}

// Windows along one axis, by ONNX's rule: the last begins in the image or in the padding before it.
int64_t Windows(int64_t extent, int64_t before, int64_t after, int64_t window, int64_t stride,
                bool ceil) {
  const int64_t room = extent + before + after - window;
  if (room < 0) return 0;
  const int64_t whole = room / stride + 1;
  return ceil && room % stride > 0 && whole * stride < extent + before ? whole + 1 : whole;
}

// Layers pad both sides alike and may round up, which is padding after the image too: the setting
// that makes the same windows.
absl::Status SetPadding(const ImagePads& pads, bool ceil, const ImageExtents& image,
                        Pool2dOptions& options) {
  options.padding = {pads.top, pads.left};
  const auto reach = [](int64_t window, int64_t dilation) { return dilation * (window - 1) + 1; };
  const auto windows = [&](bool vertical, int64_t after, bool up) {
    return vertical ? Windows(image.height, pads.top, after,
                              reach(options.window.vertical, options.dilation.vertical),
                              options.stride.vertical, up)
                    : Windows(image.width, pads.left, after,
                              reach(options.window.horizontal, options.dilation.horizontal),
                              options.stride.horizontal, up);
  };
  const int64_t high = windows(true, pads.bottom, ceil), wide = windows(false, pads.right, ceil);
  for (const bool up : {false, true}) {
    options.ceil = up;
    if (windows(true, pads.top, up) == high && windows(false, pads.left, up) == wide) {
      return absl::OkStatus();
    }
  }
  return Unimplemented("has paddings ", pads.top, ", ", pads.left, " before and ", pads.bottom,
                       ", ", pads.right,
                       " after the image, which a layer, which pads both sides "
                       "alike, cannot say");
}

absl::Status ImportPool(OperatorReader& op, PoolKind kind) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  Pool2dOptions options = {.window = op.TwoInts("kernel_shape", 0),
                           .stride = op.TwoInts("strides", 1),
                           .dilation = op.TwoInts("dilations", 1)};
  DTNN_ASSIGN_OR_RETURN(const ImagePads pads,
                        PadsOf(op, input.shape, options.window, options.stride, options.dilation));
  if (kind == PoolKind::kAverage && op.Int("count_include_pad", 0) != 0 && pads != ImagePads()) {
    return Unimplemented(
        "its attribute \"count_include_pad\" is 1; layers divide by the elements "
        "of the image alone. AvgPool2d(count_include_pad=False) does that too");
  }
  op.Int("storage_order", 0);  // of indices, which no layer reads
  if (op.OutputIsUsed(1)) return Unimplemented("its second output, indices, is used");
  DTNN_RETURN_IF_ERROR(SetPadding(pads, op.Int("ceil_mode", 0) != 0,
                                  ExtentsOf(input.shape, TensorFormat::kNCHW), options));
  return op.AddLayer(std::make_shared<Pool2dLayer>(kind, options), input);
}

absl::Status ImportGlobalPool(OperatorReader& op, PoolKind kind) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  return op.AddLayer(std::make_shared<Pool2dLayer>(kind, Pool2dOptions{.window = 0}), input);
}

}  // namespace

absl::StatusOr<ImagePads> PadsOf(OperatorReader& op, const Shape& image, const Pair& kernel,
                                 const Pair& stride, const Pair& dilation) {
  for (const Pair& pair : {kernel, stride, dilation}) {
    const auto [low, high] = std::minmax(pair.vertical, pair.horizontal);
    if (low >= 1 && high <= kMostStep) continue;
    return InvalidArgument("has a kernel_shape, strides or dilations below 1 or above ", kMostStep);
  }
  const std::vector<int64_t> pads = op.Ints("pads", {0, 0, 0, 0});
  const std::string rule = op.Text("auto_pad", "NOTSET");
  if (pads.size() != 4 ||
      std::ranges::any_of(pads, [](int64_t pad) { return pad < 0 || pad > kMostPadding; })) {
    return InvalidArgument("its attribute \"pads\" is not 4 numbers from 0 to ", kMostPadding);
  }
  if (rule == "NOTSET") return ImagePads{pads[0], pads[1], pads[2], pads[3]};
  if (rule == "VALID") return ImagePads();
  if (rule != "SAME_UPPER" && rule != "SAME_LOWER") {
    return InvalidArgument("its attribute \"auto_pad\" is ", Quoted(rule));
  }
  const bool upper = rule == "SAME_UPPER";
  const auto [top, bottom] =
      SamePads(image[1], kernel.vertical, stride.vertical, dilation.vertical, upper);
  const auto [left, right] =
      SamePads(image[2], kernel.horizontal, stride.horizontal, dilation.horizontal, upper);
  return ImagePads{top, left, bottom, right};
}

absl::Status ImportMaxPool(OperatorReader& op) { return ImportPool(op, PoolKind::kMax); }
absl::Status ImportAveragePool(OperatorReader& op) { return ImportPool(op, PoolKind::kAverage); }
absl::Status ImportGlobalMaxPool(OperatorReader& op) {
  return ImportGlobalPool(op, PoolKind::kMax);
}
absl::Status ImportGlobalAveragePool(OperatorReader& op) {
  return ImportGlobalPool(op, PoolKind::kAverage);
}

// The mean over height and width is a pooling of the whole image.
absl::Status ImportReduceMean(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Value(0));
  std::vector<int64_t> axes = op.Ints("axes", {});
  if (op.Has(1)) {
    DTNN_ASSIGN_OR_RETURN(axes, op.Integers(1));
  }
  const bool keeps = op.Int("keepdims", 1) != 0;
  op.Int("noop_with_empty_axes", 0);
  for (int64_t& axis : axes) {
    DTNN_ASSIGN_OR_RETURN(axis, AxisOf(axis, 1 + input.shape.rank()));
  }
  std::ranges::sort(axes);
  const std::vector<int64_t> spatial =
      input.channels_last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3};
  if (!input.image() || axes != spatial) {
    return Unimplemented("is a mean over other axes than height and width");
  }
  DTNN_RETURN_IF_ERROR(op.AddLayer(
      std::make_shared<Pool2dLayer>(PoolKind::kAverage, Pool2dOptions{.window = 0}), input));
  DTNN_ASSIGN_OR_RETURN(ImportedValue pooled, op.Output());
  pooled.channels_last = input.channels_last;
  op.SetOutput(pooled);
  return keeps ? absl::OkStatus() : op.AddLayer(std::make_shared<FlattenLayer>(), pooled);
}

}  // namespace dtnn
