// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011): the value is a pure function of (seed, stream, counter).
//
// Hence results do not depend on the number of threads or the order of evaluation, any position can
// be visited at once, and the state of a generator is one integer that a checkpoint can hold. A GPU
// computes the same numbers. Give every use its own stream (see Stream), so that drawing more
// numbers in one place never shifts another's.

#ifndef DTNN_TENSOR_PHILOX_H_
#define DTNN_TENSOR_PHILOX_H_

#include <array>
#include <cstdint>

namespace dtnn {

// The purposes that numbers are drawn for; `StreamId(purpose, index)` tells apart, say, two dropout
// layers.
enum class RandomPurpose : uint8_t {
  kInitialize,
  kShuffle,
  kSplit,
  kDropout,
  kAugment,
  kSynthetic,
  kTest
};

constexpr uint64_t StreamId(RandomPurpose purpose, uint64_t index = 0) {
  return (uint64_t(purpose) << 56) | index;
}

class Philox {
 public:
  Philox(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  // Four independent uniform 32-bit numbers for this counter.
  std::array<uint32_t, 4> Block(uint64_t counter) const;

  // The i-th number of the stream: Block(i / 4)[i % 4].
  uint32_t Bits(uint64_t i) const { return Block(i / 4)[i % 4]; }
  // Uniform in [0, 1) with 24 random bits: exact in float32, the same number in both dtypes.
  double Uniform(uint64_t i) const { return ToUnit(Bits(i)); }
  // Uniform in 0 .. bound-1 without bias to speak of (bound < 2^32).
  uint32_t Below(uint64_t i, uint32_t bound) const {
    return uint32_t((uint64_t{Bits(i)} * bound) >> 32);
  }
  static constexpr double ToUnit(uint32_t bits) { return (bits >> 8) * 0x1p-24; }

  uint64_t seed() const { return seed_; }
  uint64_t stream() const { return stream_; }

 private:
  uint64_t seed_, stream_;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_PHILOX_H_
