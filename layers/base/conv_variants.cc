#include "layers/base/conv_variants.h"

#include "kernels/conv/choice/fastest.h"

namespace dtnn {

absl::StatusOr<Conv2dVariants> ChooseConvVariants(const BindContext& context,
                                                  const Conv2dSpec& spec, const Conv2dUse& use) {
  if (context.best_of == nullptr || context.conv_variant != "auto") {
    return WithFallback(context.conv_variant, spec);
  }
  return FastestConv2d(*context.best_of, *context.device, spec, use);
}

}  // namespace dtnn
