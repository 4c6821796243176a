#include "kernels/amx/amx.h"

#include <atomic>
#include <string>

#include "kernels/amx/tiles.h"

#ifdef DTNN_HAS_TILES
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tensor/errors.h"
#endif

namespace dtnn {
namespace {

std::atomic<ProductLevel> most = ProductLevel::kTiles;

#ifdef DTNN_HAS_TILES
// Intel's manual, volume 2, CPUID; volume 1, 13.3: which states the system saves.
constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;  // leaf 7, edx
constexpr uint32_t kOsxsave = 1u << 27;                                   // leaf 1, ecx
constexpr uint64_t kTileStates = 3u << 17;  // XCR0: configuration and data

constexpr long kRequestPermission = 0x1023, kTileData = 18;  // linux/arch/x86: prctl.h, fpu/types.h

uint64_t Xcr0() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Pairs of bfloat16 in vectors, and what packs and rounds them.
bool HasDots() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

std::string Ask() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0 || (d & kBf16) == 0) {
    return "needs AMX, which this CPU does not have";
  }
  // Sums become bfloat16 with its instructions; every CPU with tiles has them.
  if (!HasDots()) {
    return "needs AVX512-BF16 beside AMX, which this CPU does not have";
  }
  __get_cpuid(1, &a, &b, &c, &d);
  if ((c & kOsxsave) == 0 || (Xcr0() & kTileStates) != kTileStates) {
    return "needs AMX, which the operating system does not support; Linux does from 5.16 on";
  }
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return "";
  const int error = errno;
  return StrCat("needs AMX, which the operating system refuses: arch_prctl: ", std::strerror(error),
                error == ENOSPC ? "; an alternative signal stack is too small for them" : "");
}
bool HasInt8() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kInt8) != 0;
}
#else
bool HasDots() { return false; }
bool HasInt8() { return false; }
std::string Ask() {
  return "needs AMX, which this build does not have: only those of GCC for x86-64 and Linux do";
}
#endif

}  // namespace

std::string_view AmxRefusal() {
  static const std::string* const refusal = new std::string(Ask());
  if (most.load(std::memory_order_relaxed) < ProductLevel::kTiles) {
    return "needs AMX, which DTNN_SIMD switches off";
  }
  return *refusal;
}

std::string_view AmxInt8Refusal() {
  static const bool has_int8 = HasInt8();
  const std::string_view refusal = AmxRefusal();
  return refusal.empty() && !has_int8
             ? "needs AMX's products of bytes, which this CPU does not have"
             : refusal;
}

std::string_view DotRefusal() {
  static const bool has_dots = HasDots();
  if (most.load(std::memory_order_relaxed) < ProductLevel::kDots) {
    return "needs AVX512-BF16, which DTNN_SIMD switches off";
  }
  return has_dots ? "" : "needs AVX512-BF16, which this CPU or this build does not have";
}

bool DotsAreFast() {
#ifdef DTNN_HAS_TILES
  static const bool amd = __builtin_cpu_is("amd");
  return amd;
#else
  return false;
#endif
}

void RestrictProducts(ProductLevel level) { most.store(level, std::memory_order_relaxed); }

}  // namespace dtnn
