// Poolings, paddings by rule, and images made larger.

#include <algorithm>
#include <array>
#include <utility>

#include "layers/flatten.h"
#include "layers/pool2d.h"
#include "layers/upsampling/upsample2d.h"
#include "models/onnx/import/operators.h"
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
  options.count_padding =
      kind == PoolKind::kAverage && op.Int("count_include_pad", 0) != 0 && pads != ImagePads();
  if (options.count_padding && (pads.top != pads.bottom || pads.left != pads.right)) {
    return Unimplemented(
        "its attribute \"count_include_pad\" is 1, and its paddings differ from side to side; "
        "layers pad both sides alike");
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

// How many times as large an image becomes: of `scales`, or of the sizes that it gets.
absl::StatusOr<Pair> ScaleOf(OperatorReader& op, const Shape& image, size_t scales, size_t sizes) {
  if (op.Has(sizes)) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> to, op.Integers(sizes));
    if (to.size() == 4 && to[1] == image[0] && to[2] > 0 && to[3] > 0 && to[2] % image[1] == 0 &&
        to[3] % image[2] == 0) {
      return Pair(to[2] / image[1], to[3] / image[2]);
    }
  } else if (op.Has(scales)) {
    DTNN_ASSIGN_OR_RETURN(const TensorValues by, op.Constant(scales));
    const auto whole = [](float scale) {
      return scale >= 1 && scale <= 1024 && scale == int(scale);
    };
    if (by.real() && by.count() == 4 && by.reals[0] == 1 && by.reals[1] == 1 &&
        whole(by.reals[2]) && whole(by.reals[3])) {
      return Pair(int64_t(by.reals[2]), int64_t(by.reals[3]));
    }
  }
  return Unimplemented("resizes images of ", image.ToString(),
                       " by other factors than whole numbers along height and width");
}

// Where outputs stand: of the conventions that ONNX has, those that layers have. For whole factors,
// nearest centres are those that counting from the corner finds.
absl::StatusOr<Upsample2dOptions> UpsamplingOf(OperatorReader& op, bool from_corner) {
  const std::string mode = op.Text("mode", "nearest");
  const std::string where =
      op.Text("coordinate_transformation_mode", from_corner ? "asymmetric" : "half_pixel");
  const std::string rounds = op.Text("nearest_mode", from_corner ? "floor" : "round_prefer_floor");
  const bool half_pixel = where == "half_pixel" || where == "pytorch_half_pixel";
  if (mode == "nearest" &&
      (where == "asymmetric" ? rounds == "floor" : half_pixel && rounds.starts_with("round_"))) {
    return Upsample2dOptions{.mode = ResizeMode::kNearest};
  }
  if (mode == "linear" && (half_pixel || where == "align_corners")) {
    return Upsample2dOptions{.mode = ResizeMode::kLinear, .align_corners = !half_pixel};
  }
  return Unimplemented(
      "its attributes \"mode\", \"coordinate_transformation_mode\" and "
      "\"nearest_mode\" are ",
      Quoted(mode), ", ", Quoted(where), " and ", Quoted(rounds),
      "; layers have what Upsample(mode=\"nearest\" or \"bilinear\") makes");
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

// The mean over all pixels is a pooling of the whole image, under whichever axes it is seen.
absl::Status ImportReduceMean(OperatorReader& op) {
  op.TakeAnyAxes();
  DTNN_ASSIGN_OR_RETURN(ImportedValue input, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> given, AxesGiven(op));
  const bool keeps = op.Int("keepdims", 1) != 0;
  op.Int("noop_with_empty_axes", 0);
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                        SortedAxes(given, int64_t(input.rank())));
  Axes axes = input.image() ? AxesOf(input) : Axes();
  int64_t pixels = 1;
  for (size_t i = places.size(); i > 0 && input.image(); --i) {
    const auto place = axes.begin() + places[i - 1];
    for (const AxisFactor& factor : *place) {
      pixels *= factor.of == AxisFactor::Of::kPixels ? factor.extent : 0;
    }
    place->clear();
    if (!keeps) axes.erase(place);
  }
  if (!input.image() || places.empty() || pixels != input.shape[1] * input.shape[2]) {
    return Unimplemented("is a mean over other axes than height and width");
  }
  DTNN_RETURN_IF_ERROR(op.AddLayer(
      std::make_shared<Pool2dLayer>(PoolKind::kAverage, Pool2dOptions{.window = 0}), input));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue pooled, op.Output());
  if (axes == Axes{{AxisFactor()}, ChannelAxis(pooled.shape[0])}) {
    return op.AddLayer(std::make_shared<FlattenLayer>(), pooled);
  }
  SetAxes(op, pooled, std::move(axes));
  return absl::OkStatus();
}

// An old one has two inputs, and counts from the corner.
absl::Status ImportResize(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue input, op.Image(0));
  const bool old = op.num_inputs() == 2;
  for (const std::string_view none : {"antialias", "exclude_outside"}) {
    if (op.Int(none, 0) != 0) return Unimplemented("its attribute ", Quoted(none), " is not 0");
  }
  op.Real("cubic_coeff_a", 0);  // of another mode
  op.Real("extrapolation_value", 0);
  if (op.Text("keep_aspect_ratio_policy", "stretch") != "stretch" || op.HasAttribute("axes")) {
    return Unimplemented("has an attribute \"keep_aspect_ratio_policy\" or \"axes\"");
  }
  DTNN_ASSIGN_OR_RETURN(Upsample2dOptions options, UpsamplingOf(op, old));
  DTNN_ASSIGN_OR_RETURN(options.scale, ScaleOf(op, input.shape, old ? 1 : 2, 3));
  return op.AddLayer(std::make_shared<Upsample2dLayer>(options), input);
}

}  // namespace dtnn
