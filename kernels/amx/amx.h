// Whether this process may use the instructions of x86-64 that multiply bfloat16: tiles (AMX) and
// dot products of pairs in vectors (AVX512-BF16). The processor and the build must have them. For
// tiles the operating system must, too, and Linux wants to be asked (arch_prctl), since a thread
// that uses them has 8 KiB more to save at every switch and signal.

#ifndef DTNN_KERNELS_AMX_AMX_H_
#define DTNN_KERNELS_AMX_AMX_H_

#include <cstdint>
#include <string_view>

namespace dtnn {

// Why kernels may not multiply bfloat16 in tiles, as the rest of a sentence: "needs AMX, which this
// CPU does not have"; empty where they may. The first call asks the system for the permission, for
// all threads of the process and for good. Linux refuses it where a thread has an alternative
// signal stack that is too small for the tiles. Allocates nothing after the first call.
std::string_view AmxRefusal();

// The same for products of bytes.
std::string_view AmxInt8Refusal();

// Why kernels may not multiply pairs of bfloat16 in vectors: "needs AVX512-BF16, which this CPU
// does not have"; empty where they may.
std::string_view DotRefusal();

// Whether a dot product of pairs takes no longer than a fused multiply-add of float32, so that
// there are twice as many products. AMD's CPUs, from Zen 4 on, do that; Intel's take twice as long.
bool DotsAreFast();

// What products of bfloat16 may be computed with: each level has the ones before it too.
enum class ProductLevel : uint8_t { kVectors, kDots, kTiles };

// Restricts the kernels of this process to a level; bytes too are then not multiplied in tiles. Not
// while kernels run.
void RestrictProducts(ProductLevel most);

}  // namespace dtnn

#endif  // DTNN_KERNELS_AMX_AMX_H_
