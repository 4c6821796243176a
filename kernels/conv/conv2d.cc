#include "kernels/conv/conv2d.h"

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {

#define DTNN_CONV2D_VARIANT(name, create) \
  absl::StatusOr<std::unique_ptr<Conv2d>> create(DeviceContext&, const Conv2dSpec&);
#include "kernels/conv/variants.inc"
#undef DTNN_CONV2D_VARIANT

std::vector<std::string_view> Conv2dVariants() {
  return {
#define DTNN_CONV2D_VARIANT(name, create) #name,
#include "kernels/conv/variants.inc"
#undef DTNN_CONV2D_VARIANT
  };
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2d(DeviceContext& context, const Conv2dSpec& spec,
                                                     std::string_view variant) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
#define DTNN_CONV2D_VARIANT(name, create) \
  if (variant == #name) return create(context, spec);
#include "kernels/conv/variants.inc"
#undef DTNN_CONV2D_VARIANT
  std::string message =
      absl::StrCat("unknown convolution variant \"", std::string(variant), "\"; there are:");
  for (std::string_view name : Conv2dVariants()) absl::StrAppend(&message, " ", std::string(name));
  return absl::InvalidArgumentError(message);
}

}  // namespace dtnn
