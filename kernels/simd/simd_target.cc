#include "kernels/simd/simd_target.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/amx/amx.h"
#include "tensor/errors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/simd_target.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
std::string TargetName() { return HWY_TARGET <= HWY_AVX3 ? "AVX512" : hwy::TargetName(HWY_TARGET); }
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {

HWY_EXPORT(TargetName);

std::string SimdTarget() {
  const std::string target = HWY_DYNAMIC_DISPATCH(TargetName)();
  if (target != "AVX512") return target;
  if (AmxRefusal().empty()) return "AVX512+AMX";
  return DotRefusal().empty() ? "AVX512+BF16" : target;
}

namespace {

struct Restriction {
  std::string_view name;
  int64_t target;
  ProductLevel products = ProductLevel::kVectors;
};
constexpr Restriction kRestrictions[] = {
    {"amx", HWY_AVX3, ProductLevel::kTiles},
    {"avx512_bf16", HWY_AVX3, ProductLevel::kDots},
    {"avx512", HWY_AVX3},
    {"avx2", HWY_AVX2},
#ifdef HWY_SSE2  // Highway 1.0.3 has no such target
    {"sse2", HWY_SSE2},
#endif
    {"scalar", HWY_EMU128},
};

// Why products are not computed at a level; empty: they are.
std::string_view RefusalOf(ProductLevel level) {
  switch (level) {
    case ProductLevel::kVectors:
      return "";
    case ProductLevel::kDots:
      return DotRefusal();
    case ProductLevel::kTiles:
      return AmxRefusal();
  }
  return "";
}

// Whether the kernels are compiled for it; which of its two scalar targets Highway has depends on
// the compiler.
constexpr bool IsBuilt(const Restriction& restriction) {
  return restriction.target == HWY_EMU128 || (HWY_TARGETS & restriction.target) != 0;
}

std::string BuiltNames() {
  std::string names;
  for (const Restriction& restriction : kRestrictions) {
    if (IsBuilt(restriction)) StrAppend(&names, names.empty() ? "" : ", ", restriction.name);
  }
  return names;
}

}  // namespace

absl::Status RestrictSimd(const char* name) {
  hwy::DisableTargets(0);
  RestrictProducts(ProductLevel::kTiles);
  if (name == nullptr || *name == '\0') return absl::OkStatus();
  for (const Restriction& restriction : kRestrictions) {
    if (restriction.name != name || !IsBuilt(restriction)) continue;
    if (restriction.target < HWY_EMU128 && (hwy::SupportedTargets() & restriction.target) == 0) {
      return InvalidArgument("DTNN_SIMD=", name, ": this CPU has at most ", SimdTarget());
    }
    if (const std::string_view refusal = RefusalOf(restriction.products); !refusal.empty()) {
      return InvalidArgument("DTNN_SIMD=", name, ": ", refusal);
    }
    RestrictProducts(restriction.products);
    hwy::DisableTargets(restriction.target - 1);  // better targets have lower bits
    return absl::OkStatus();
  }
  return InvalidArgument("DTNN_SIMD=", Quoted(name), ": must be one of: ", BuiltNames());
}

absl::Status RestrictSimdByEnvironment() {
  static const absl::Status* const status =
      new absl::Status(RestrictSimd(std::getenv("DTNN_SIMD")));
  return *status;
}

}  // namespace dtnn
#endif  // HWY_ONCE
