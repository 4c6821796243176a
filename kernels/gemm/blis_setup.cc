#include "kernels/gemm/blis_setup.h"

#include <blis-openmp/blis.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "hwy/highway.h"

namespace dtnn {
namespace {

#if defined(__x86_64__)

struct Vendor {
  bool amd;
  unsigned family;
};

Vendor QueryVendor() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __get_cpuid(0, &eax, &ebx, &ecx, &edx);
  const bool amd = ebx == signature_AMD_ebx && ecx == signature_AMD_ecx && edx == signature_AMD_edx;
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  const unsigned family = (eax >> 8) & 0xf;
  return {amd, family == 0xf ? family + ((eax >> 20) & 0xff) : family};
}

// The configuration to ask for; nothing where BLIS's own list is right. Highway also asks the
// operating system whether it saves the registers (xgetbv), and knows restrictions.
std::optional<arch_t> BestConfiguration() {
  const int64_t targets = hwy::SupportedTargets();
  if (targets & HWY_AVX3) return BLIS_ARCH_SKX;
  if (!(targets & HWY_AVX2)) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx")) return BLIS_ARCH_GENERIC;  // restricted
    return std::nullopt;
  }
  const Vendor vendor = QueryVendor();
  if (!vendor.amd) return BLIS_ARCH_HASWELL;
  // Families: 0x17 Zen and Zen 2, which BLIS tells apart; 0x19 without AVX-512 is Zen 3.
  if (vendor.family == 0x17) return std::nullopt;
  return vendor.family >= 0x19 ? BLIS_ARCH_ZEN3 : BLIS_ARCH_HASWELL;
}

#else

std::optional<arch_t> BestConfiguration() { return std::nullopt; }

#endif

}  // namespace

void InitBlis() {
  static const bool initialised = [] {
    if (const std::optional<arch_t> best = BestConfiguration()) {
      // BLIS takes it only from the environment.
      setenv("BLIS_ARCH_TYPE", std::to_string(int(*best)).c_str(), /*overwrite=*/0);
    }
    bli_init();
    return true;
  }();
  static_cast<void>(initialised);
}

std::string_view BlisConfiguration() {
  InitBlis();  // BLIS aborts when asked before it is initialised
  return bli_arch_string(bli_arch_query_id());
}

}  // namespace dtnn
