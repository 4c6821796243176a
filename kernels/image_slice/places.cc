#include "kernels/image_slice/places.h"

#include <string_view>

#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::Status CheckAxis(std::string_view name, const SliceAxis& axis, int64_t extent) {
  if (axis.step < 1) {
    return InvalidArgument("slice: a step of ", axis.step, " ", name, ", expected at least 1");
  }
  // The last one is at begin + (count - 1) * step, which may be beyond 64 bits.
  if (axis.begin >= 0 && axis.begin < extent && axis.count >= 1 &&
      axis.count - 1 <= (extent - 1 - axis.begin) / axis.step) {
    return absl::OkStatus();
  }
  return InvalidArgument("slice: ", axis.count, " ", name, " from number ", axis.begin,
                         " on in steps of ", axis.step, " are not in an image of ", extent);
}

}  // namespace

absl::Status CheckImageSlice(const ImageSliceSpec& spec) {
  const ImageExtents& image = spec.image;
  if (image.height < 1 || image.width < 1 || image.channels < 1) {
    return InvalidArgument("slice: an image of ", ToString(image), ", expected elements");
  }
  DTNN_RETURN_IF_ERROR(CheckAxis("rows", RowsOf(spec), image.height));
  return CheckAxis("columns", ColumnsOf(spec), image.width);
}

absl::Status CheckSliceCall(const ImageSliceSpec& spec, Device device, const Tensor& large,
                            const Tensor& small) {
  const int64_t samples = large.shape().rank() > 0 ? large.shape()[0] : 0;
  const auto check = [&](std::string_view name, const Tensor& image, const ImageExtents& extents) {
    return CheckOperand("slice", name, image, device, spec.dtype,
                        SampleShape(extents, spec.format).Prepend(samples), Pitch::kAllowed);
  };
  DTNN_RETURN_IF_ERROR(check("the image", large, spec.image));
  return check("the slice", small, spec.output());
}

}  // namespace dtnn
