#include "kernels/conv/conv2d.h"

#include <span>

#include "kernels/conv/conv2d_cpu.h"
#include "kernels/conv/filter_copies/filter_copies.h"
#include "kernels/conv/gpu/conv2d_gpu.h"
#include "kernels/conv/kernel.h"
#include "kernels/elementwise/operands.h"
#include "tensor/errors.h"
#include "tensor/named_table.h"

namespace dtnn {

namespace conv {
#define DTNN_CONV_VARIANT(name, variant, meaning) extern const Variant variant;
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
}  // namespace conv

namespace {

struct Entry {
  std::string_view name;
  const conv::Variant* variant;
};

// Made in a call, since the variants are defined in other files.
std::span<const Entry> Table() {
  static const Entry table[] = {
#define DTNN_CONV_VARIANT(name, variant, meaning) {name, &conv::variant},
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
  };
  return table;
}

absl::StatusOr<const conv::Variant*> Find(std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const Entry* entry, FindNamed(Table(), "convolution variant", name));
  return entry->variant;
}

absl::StatusOr<const conv::Variant*> Choose(std::string_view name, const Conv2dSpec& spec,
                                            conv::Direction direction) {
  if (name == "auto") name = AutomaticVariant(spec, direction);
  DTNN_ASSIGN_OR_RETURN(const conv::Variant* variant, Find(name));
  const conv::Support support = conv::SupportOf(*variant, spec, direction);
  if (support.ok()) return variant;
  return InvalidArgument("convolution variant ", name, ", ", conv::Name(direction), " of ",
                         spec.ToString(), ": ", support.refusal);
}

}  // namespace

std::string_view AutomaticVariant(const Conv2dSpec& spec, conv::Direction direction) {
  std::string_view fastest;
  double most = 0;
  for (const auto& [name, variant] : Table()) {
    if (variant->gain == nullptr || !conv::SupportOf(*variant, spec, direction).ok()) continue;
    const double gain = variant->gain(spec, direction);
    if (gain > most) fastest = name, most = gain;
  }
  return fastest;
}

Conv2dVariants WithFallback(Conv2dVariants variants, const Conv2dSpec& spec) {
  for (const conv::Direction direction : conv::kDirections) {
    std::string_view& name = variants[direction];
    const auto variant = Find(name);
    if (variant.ok() && !conv::SupportOf(**variant, spec, direction).ok()) name = "auto";
  }
  return variants;
}

std::vector<std::string_view> Conv2dVariantNames() { return NamesIn(Table()); }

std::string_view Conv2dRefusal(std::string_view variant, const Conv2dSpec& spec,
                               conv::Direction direction) {
  const auto found = Find(variant);
  return found.ok() ? conv::SupportOf(**found, spec, direction).refusal
                    : "there is no such variant";
}

double Conv2dError(std::string_view variant, const Conv2dSpec& spec, conv::Direction direction) {
  const auto found = Find(variant);
  return found.ok() ? conv::SupportOf(**found, spec, direction).error : 0;
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2d(DeviceContext& context, const Conv2dSpec& spec,
                                                     Conv2dVariants variants,
                                                     const Conv2dUse& use) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  if (use.channels_last_filter && !CopiesFiltersChannelsLast(context.device(), spec.format)) {
    return InvalidArgument("convolution ", spec.ToString(), " on ", context.device().ToString(),
                           ": its filter is channels last, which is for NHWC images on GPUs");
  }
  if (!context.device().is_cpu()) return conv::CreateConv2dGpu(context, spec, variants, use);
  if (spec.dtype != DType::kBfloat16) {
    DTNN_RETURN_IF_ERROR(CheckFloating("convolution", context.device(), spec.dtype));
  }
  conv::VariantChoice choice = {};
  for (const conv::Direction direction : conv::kDirections) {
    if (!use.directions[direction]) continue;
    DTNN_ASSIGN_OR_RETURN(choice[direction], Choose(variants[direction], spec, direction));
  }
  return conv::CreateConv2dCpu(spec, choice, use.keeps_filter);
}

}  // namespace dtnn
