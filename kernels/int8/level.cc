#include "kernels/int8/level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/amx/amx.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8/level.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dtnn {
namespace HWY_NAMESPACE {
// Bits of vectors, where they are better than plain C++.
int VectorBits() {
#if HWY_TARGET <= HWY_AVX3
  return 512;
#elif HWY_TARGET <= HWY_AVX2
  return 256;
#else
  return 0;
#endif
}
}  // namespace HWY_NAMESPACE
}  // namespace dtnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtnn {
namespace {

HWY_EXPORT(VectorBits);

#if defined(__x86_64__)
// As CPUID says it: clang before 15 has no name of it.
bool HasAvxVnni() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 1U << 4) != 0;
}
#endif

bool Has(Int8Level level) {
#if defined(__x86_64__)
  const int bits = HWY_DYNAMIC_DISPATCH(VectorBits)();
  switch (level) {
    case Int8Level::kAvxVnni:
      return bits >= 256 && HasAvxVnni();
    case Int8Level::kAvx512Vnni:
      return bits >= 512 && __builtin_cpu_supports("avx512vnni");
    case Int8Level::kTiles:
      return bits >= 512 && AmxInt8Refusal().empty();
    default:
      return true;
  }
#else
  return level == Int8Level::kVectors || level == Int8Level::kEmulatedTiles;
#endif
}

}  // namespace

std::string_view Name(Int8Level level) {
  switch (level) {
    case Int8Level::kVectors:
      return "vectors";
    case Int8Level::kAvxVnni:
      return "avx_vnni";
    case Int8Level::kAvx512Vnni:
      return "avx512_vnni";
    case Int8Level::kTiles:
      return "amx_int8";
    case Int8Level::kEmulatedTiles:
      return "emulated_amx_int8";
  }
  return "";
}

Int8Level BestInt8Level() {
  for (const Int8Level level : {Int8Level::kTiles, Int8Level::kAvx512Vnni, Int8Level::kAvxVnni}) {
    if (Has(level)) return level;
  }
  return Int8Level::kVectors;
}

std::vector<Int8Level> Int8Levels() {
  std::vector<Int8Level> levels;
  for (const Int8Level level : {Int8Level::kVectors, Int8Level::kAvxVnni, Int8Level::kAvx512Vnni,
                                Int8Level::kTiles, Int8Level::kEmulatedTiles}) {
    if (Has(level)) levels.push_back(level);
  }
  return levels;
}

}  // namespace dtnn
#endif  // HWY_ONCE
