#include "kernels/conv/conv2d.h"

#include "absl/strings/str_cat.h"
#include "kernels/conv/conv2d_cpu.h"
#include "kernels/conv/kernel.h"
#include "tensor/status_macros.h"

namespace dtnn {

namespace conv {
#define DTNN_CONV_VARIANT(variant) extern const Variant variant;
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
}  // namespace conv

namespace {

constexpr const conv::Variant* kVariants[] = {
#define DTNN_CONV_VARIANT(variant) &conv::variant,
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
};

const conv::Variant* Find(std::string_view name) {
  for (const conv::Variant* variant : kVariants) {
    if (variant->name == name) return variant;
  }
  return nullptr;
}

absl::StatusOr<const conv::Variant*> Choose(std::string_view name, const Conv2dSpec& spec,
                                            conv::Direction direction) {
  if (name == "auto") name = AutomaticVariant(spec, direction);
  const conv::Variant* variant = Find(name);
  if (variant == nullptr) {
    std::string message =
        absl::StrCat("unknown convolution variant \"", std::string(name), "\"; there are:");
    for (std::string_view each : Conv2dVariantNames()) {
      absl::StrAppend(&message, " ", std::string(each));
    }
    return absl::InvalidArgumentError(message);
  }
  const conv::Support support = conv::SupportOf(*variant, spec, direction);
  if (support.ok()) return variant;
  return absl::InvalidArgumentError(absl::StrCat("convolution variant ", std::string(name), ", ",
                                                 std::string(conv::Name(direction)), " of ",
                                                 spec.ToString(), ": ", support.refusal));
}

}  // namespace

std::string_view& Conv2dVariants::of(conv::Direction direction) {
  switch (direction) {
    case conv::Direction::kForward:
      return forward;
    case conv::Direction::kBackwardData:
      return backward_data;
    case conv::Direction::kBackwardFilter:
      break;
  }
  return backward_filter;
}

Conv2dVariants WithFallback(Conv2dVariants variants, const Conv2dSpec& spec) {
  for (const conv::Direction direction : conv::kDirections) {
    std::string_view& name = variants.of(direction);
    const conv::Variant* variant = Find(name);
    if (variant != nullptr && !conv::SupportOf(*variant, spec, direction).ok()) name = "auto";
  }
  return variants;
}

std::vector<std::string_view> Conv2dVariantNames() {
  std::vector<std::string_view> names;
  for (const conv::Variant* variant : kVariants) names.push_back(variant->name);
  return names;
}

std::string Conv2dRefusal(std::string_view variant, const Conv2dSpec& spec,
                          conv::Direction direction) {
  const conv::Variant* found = Find(variant);
  return found == nullptr ? "there is no such variant"
                          : conv::SupportOf(*found, spec, direction).refusal;
}

double Conv2dError(std::string_view variant, const Conv2dSpec& spec, conv::Direction direction) {
  const conv::Variant* found = Find(variant);
  return found == nullptr ? 0 : conv::SupportOf(*found, spec, direction).error;
}

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2d(DeviceContext& context, const Conv2dSpec& spec,
                                                     Conv2dVariants variants) {
  DTNN_RETURN_IF_ERROR(spec.Validate());
  if (!context.device().is_cpu()) {
    return absl::UnimplementedError(
        absl::StrCat("convolution: no kernel for ", context.device().ToString()));
  }
  conv::VariantChoice choice;
  DTNN_ASSIGN_OR_RETURN(choice.forward, Choose(variants.forward, spec, conv::Direction::kForward));
  DTNN_ASSIGN_OR_RETURN(choice.backward_data,
                        Choose(variants.backward_data, spec, conv::Direction::kBackwardData));
  DTNN_ASSIGN_OR_RETURN(choice.backward_filter,
                        Choose(variants.backward_filter, spec, conv::Direction::kBackwardFilter));
  return conv::CreateConv2dCpu(spec, choice);
}

}  // namespace dtnn
