#include "kernels/channel_pick/deal.h"

#include "kernels/operands/operand.h"
#include "tensor/errors.h"

namespace dtnn {

absl::Status CheckPickedImages(const ChannelPickSpec& spec, Device device, std::string_view x_name,
                               const Tensor& x, std::string_view y_name, const Tensor& y) {
  constexpr std::string_view kName = "channel pick";
  if (x.empty() || x.shape().rank() != 4) {
    return InvalidArgument(kName, ": ", x_name,
                           x.empty() ? " is missing" : " is not a batch of images");
  }
  ImageExtents image = ExtentsOf(x.shape().DropFirst(), spec.format);
  const auto shape = [&](int64_t channels) {
    image.channels = channels;
    return SampleShape(image, spec.format).Prepend(x.shape()[0]);
  };
  DTNN_RETURN_IF_ERROR(
      CheckOperand(kName, x_name, x, device, spec.dtype, shape(spec.channels), Pitch::kAllowed));
  return CheckOperand(kName, y_name, y, device, spec.dtype, shape(spec.count), Pitch::kAllowed);
}

}  // namespace dtnn
