// Convolutions as networks have them, made up from a seed: what a kernel that was tuned on a list
// of shapes must be good at too.

#ifndef DTNN_BENCH_RANDOM_CONVOLUTIONS_H_
#define DTNN_BENCH_RANDOM_CONVOLUTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/conv/conv2d_spec.h"

namespace dtnn {

struct NamedConvolution {
  Conv2dSpec spec;
  int64_t repeat = 1;  // how often it occurs in its network
  std::string name;
};

// Valid specs, the same for the same seed on any machine: first layers, 3x3, 1x1, 5x5, 1x7 and
// 11x11 kernels, strides, depthwise ones, maps of 4 to 224, batches of 1 to 64, even and odd sizes;
// none takes more than about 8 GFLOP.
std::vector<NamedConvolution> RandomConvolutions(int64_t count, uint64_t seed);

}  // namespace dtnn

#endif  // DTNN_BENCH_RANDOM_CONVOLUTIONS_H_
