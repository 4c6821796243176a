#include "kernels/concat/moves.h"

#include "tensor/errors.h"

namespace dtnn {
namespace {

int ChannelAxis(const Shape& shape, TensorFormat format) {
  return shape.rank() == 4 && format == TensorFormat::kNCHW ? 1 : shape.rank() - 1;
}

bool SameButChannels(const Shape& a, const Shape& b, TensorFormat format) {
  if (a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (axis != ChannelAxis(a, format) && a[axis] != b[axis]) return false;
  }
  return true;
}

}  // namespace

ConcatLayout::ConcatLayout(const Tensor& tensor, TensorFormat format) {
  const Shape& shape = tensor.shape();
  const int axis = ChannelAxis(shape, format);
  channels = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  rows = channels * inner == 0 ? 0 : tensor.num_elements() / (channels * inner);
}

absl::StatusOr<ConcatMoves> ConcatMoves::Of(const ConcatSpec& spec, Device device,
                                            const Tensor& whole, std::span<const Tensor> parts) {
  DTNN_RETURN_IF_ERROR(CheckOperands("concat", device, spec.dtype, {&whole}));
  const Shape& shape = whole.shape();
  if (shape.rank() != 2 && shape.rank() != 4) {
    return InvalidArgument("concat: shape ", shape.ToString(), ", expected a matrix or images");
  }
  int64_t channels = 0, empty = 0;
  for (const Tensor& part : parts) {
    if (part.empty()) {
      ++empty;
      continue;
    }
    DTNN_RETURN_IF_ERROR(CheckOperands("concat", device, spec.dtype, {&part}));
    if (!SameButChannels(part.shape(), shape, spec.format)) {
      return InvalidArgument("concat: a part of shape ", part.shape().ToString(),
                             " does not fit in ", shape.ToString(),
                             "; only the channels may differ");
    }
    channels += ConcatLayout(part, spec.format).channels;
  }
  const int64_t skipped = ConcatLayout(whole, spec.format).channels - channels;
  if (empty == 0 ? skipped == 0 : empty == 1 && skipped > 0) {
    return ConcatMoves(spec, whole, parts, skipped);
  }
  return InvalidArgument("concat: the parts have ", channels, " channels and ", empty,
                         " of them are empty, but the whole has ",
                         ConcatLayout(whole, spec.format).channels,
                         "; expected the same number, or one empty part that has the rest");
}

absl::Status CheckAccumulateFlags(size_t gradients, size_t flags) {
  if (flags == gradients) return absl::OkStatus();
  return InvalidArgument("concat: ", gradients, " gradients and ", flags,
                         " accumulate flags, expected as many");
}

}  // namespace dtnn
