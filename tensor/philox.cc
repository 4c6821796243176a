#include "tensor/philox.h"

#include <Random123/philox.h>

namespace dtnn {

std::array<uint32_t, 4> Philox::Block(uint64_t counter) const {
  using Generator = r123::Philox4x32;  // ten rounds
  const Generator::key_type key = {{uint32_t(seed_), uint32_t(seed_ >> 32)}};
  const Generator::ctr_type position = {
      {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream_), uint32_t(stream_ >> 32)}};
  const Generator::ctr_type random = Generator()(position, key);
  return {random[0], random[1], random[2], random[3]};
}

}  // namespace dtnn
