#include "kernels/int8/int8_conv2d.h"

#include "kernels/int8/conv2d_depthwise.h"
#include "kernels/int8/conv2d_product.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"

namespace dtnn {

std::string Int8Conv2dSpec::ToString() const {
  return StrCat(conv.ToString(), "_u8", output ? "u8" : "f32", conv.epilogue.bias ? "_bias" : "",
                conv.epilogue.add ? "_add" : "", conv.epilogue.relu ? "_relu" : "");
}

absl::StatusOr<std::unique_ptr<Int8Conv2d>> Int8Conv2d::Create(const Int8Conv2dSpec& spec,
                                                               Int8Level level) {
  const Conv2dSpec& conv = spec.conv;
  DTNN_RETURN_IF_ERROR(conv.Validate());
  if (conv.format != TensorFormat::kNHWC) {
    return InvalidArgument("convolution in 8 bits: images must be NHWC, not ", Name(conv.format));
  }
  // 65536 * 255 * 127 is below 2^31.
  constexpr int64_t kMostProducts = 65536;
  const int64_t products =
      conv.channels / conv.groups * conv.kernel.vertical * conv.kernel.horizontal;
  if (products > kMostProducts) {
    return InvalidArgument("convolution in 8 bits: a result of ", products,
                           " products may exceed 32 bits; the most are ", kMostProducts);
  }
  if (int8::IsDepthwise(conv)) return int8::CreateConv2dDepthwise(spec);
  return int8::CreateConv2dProduct(spec, level);
}

}  // namespace dtnn
