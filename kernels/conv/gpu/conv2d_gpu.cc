#include "kernels/conv/gpu/conv2d_gpu.h"

#include <string>

#include "kernels/conv/gpu/variants.h"
#include "tensor/errors.h"
#include "tensor/named_table.h"

namespace dtnn::conv {
namespace {

struct GpuVariant {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<Conv2d>> (*create)(DeviceContext&, const Conv2dSpec&,
                                                    const Conv2dUse&);
};

constexpr GpuVariant kVariants[] = {
#define DTNN_CONV_GPU_VARIANT(name, create) {name, create},
#include "kernels/conv/gpu/variants.inc"
#undef DTNN_CONV_GPU_VARIANT
};

}  // namespace

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2dGpu(DeviceContext& context,
                                                        const Conv2dSpec& spec,
                                                        const Conv2dVariants& variants,
                                                        const Conv2dUse& use) {
  const auto& [name, backward_data, backward_filter] = variants.values;
  if (backward_data != name || backward_filter != name) {
    return InvalidArgument("convolution variants ", name, ", ", backward_data, " and ",
                           backward_filter, ": on ", context.device().ToString(),
                           " one variant computes all directions; name one");
  }
  if (name != "auto") {
    DTNN_ASSIGN_OR_RETURN(const GpuVariant* found,
                          FindNamed(kVariants, "convolution variant of GPUs", name));
    return found->create(context, spec, use);
  }
  std::string reasons;
  for (const GpuVariant& variant : kVariants) {
    auto conv = variant.create(context, spec, use);
    if (conv.ok() || conv.status().code() != absl::StatusCode::kInvalidArgument) return conv;
    StrAppend(&reasons, "; ", variant.name, ": ", conv.status().message());
  }
  return InvalidArgument("convolution: no variant for ", spec.ToString(), " on ",
                         context.device().ToString(), reasons);
}

}  // namespace dtnn::conv
