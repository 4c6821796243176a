// dtnn::Philox (tensor/philox.h) for device code: the same numbers from the same seed, stream and
// counter. The rounds are those of Philox4x32-10 (Salmon et al., SC 2011, section 4.3).

#ifndef DTNN_KERNELS_GPU_PHILOX_H_
#define DTNN_KERNELS_GPU_PHILOX_H_

#include <cstdint>

#include "tensor/gpu/kernel.h"

namespace dtnn {

struct PhiloxBlock {
  uint32_t word[4];
};

DTNN_HOST_DEVICE inline PhiloxBlock PhiloxAt(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint32_t key0 = uint32_t(seed), key1 = uint32_t(seed >> 32);
  PhiloxBlock x = {
      {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream), uint32_t(stream >> 32)}};
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * x.word[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * x.word[2];
    x = {{uint32_t(product1 >> 32) ^ x.word[1] ^ key0, uint32_t(product1),
          uint32_t(product0 >> 32) ^ x.word[3] ^ key1, uint32_t(product0)}};
    key0 += 0x9E3779B9u;  // the golden ratio and sqrt(3) - 1, as fractions of 2^32
    key1 += 0xBB67AE85u;
  }
  return x;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GPU_PHILOX_H_
