// Which instructions multiply bytes. All levels give the same bits: sums are integers.

#ifndef DTNN_KERNELS_INT8_LEVEL_H_
#define DTNN_KERNELS_INT8_LEVEL_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace dtnn {

enum class Int8Level : uint8_t {
  kVectors,        // pairs of 16 bits in the vectors of the best instruction set; plain C++ without
  kAvxVnni,        // vpdpbusd on 256 bits
  kAvx512Vnni,     // vpdpbusd on 512 bits
  kTiles,          // tdpbusd (AMX)
  kEmulatedTiles,  // the same in plain C++, for tests
};

// "vectors", "avx_vnni", "avx512_vnni", "amx_int8", "emulated_amx_int8".
std::string_view Name(Int8Level level);

// The fastest one that this CPU has and DTNN_SIMD allows.
Int8Level BestInt8Level();
// All of them, with the emulation.
std::vector<Int8Level> Int8Levels();

}  // namespace dtnn

#endif  // DTNN_KERNELS_INT8_LEVEL_H_
