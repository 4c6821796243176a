// Pad: zeros that the next layer, if it is a convolution, takes in; else a layer.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "layers/pad2d.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int64_t kMostPad = int64_t{1} << 24;

// Around an image (N, channels, height, width).
absl::StatusOr<ImagePads> PadsAround(OperatorReader& op) {
  std::vector<int64_t> pads =
      op.HasAttribute("pads") ? op.Ints("pads", {}) : std::vector<int64_t>();
  std::vector<int64_t> axes = {0, 1, 2, 3};
  if (op.Has(1)) {
    DTNN_ASSIGN_OR_RETURN(pads, op.Integers(1));
  }
  if (op.Has(3)) {
    DTNN_ASSIGN_OR_RETURN(axes, op.Integers(3));
  }
  if (axes.size() > 4 || pads.size() != 2 * axes.size()) {
    return InvalidArgument("has ", pads.size(), " pads; an image of 4 axes has two for each");
  }
  int64_t around[8] = {};
  for (size_t i = 0; i < axes.size(); ++i) {
    DTNN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(axes[i], 4));
    around[axis] = pads[i];
    around[axis + 4] = pads[i + axes.size()];
  }
  if (around[0] != 0 || around[1] != 0 || around[4] != 0 || around[5] != 0 ||
      std::ranges::any_of(pads, [](int64_t pad) { return pad < 0 || pad > kMostPad; })) {
    return Unimplemented(
        "pads along other axes than height and width, or by less than 0 or more than 2^24; layers "
        "enlarge images");
  }
  return ImagePads{around[2], around[3], around[6], around[7]};
}

}  // namespace

absl::Status ImportPad(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.Image(0));
  const std::string word = op.Text("mode", "constant");
  const std::optional<PadMode> mode = ParsePadMode(word);
  if (!mode) {
    return Unimplemented("its attribute \"mode\" is ", Quoted(word),
                         "; images are padded by a constant, mirrored (\"reflect\"), or by their "
                         "edge");
  }
  DTNN_ASSIGN_OR_RETURN(const ImagePads pads, PadsAround(op));
  double with = op.Real("value", 0);
  if (op.Has(2)) {
    DTNN_ASSIGN_OR_RETURN(const TensorValues values, op.Constant(2));
    if (!values.real() || values.count() != 1) {
      return InvalidArgument("its input 2 is not one real number");
    }
    with = ShortestReal(values.reals[0]);
  }
  if (*mode == PadMode::kConstant && with == 0 && !op.OfOurOwn()) {
    value.pads = pads;
    op.SetOutput(value);
    return absl::OkStatus();
  }
  return op.AddLayer(std::make_shared<Pad2dLayer>(Pad2dOptions{.before = {pads.top, pads.left},
                                                               .after = {pads.bottom, pads.right},
                                                               .mode = *mode,
                                                               .value = with}),
                     value);
}

}  // namespace dtnn
