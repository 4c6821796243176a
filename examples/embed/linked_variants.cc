#include "linked_variants.h"

#include "kernels/conv/kernel.h"

// Weak: a reference that brings nothing into the program, and is null for what is not there.
namespace dtnn::conv {
#define DTNN_CONV_VARIANT(name, variant, meaning) \
  extern const Variant variant __attribute__((weak));
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
}  // namespace dtnn::conv

std::vector<std::string_view> LinkedVariants() {
  std::vector<std::string_view> linked;
#define DTNN_CONV_VARIANT(name, variant, meaning) \
  if (&dtnn::conv::variant != nullptr) linked.push_back(name);
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
  return linked;
}
