// A random order that is a pure function of (seed, stream): the same on every rank, at every run
// and on any number of threads.

#ifndef DTNN_DATA_LOADING_SHUFFLE_H_
#define DTNN_DATA_LOADING_SHUFFLE_H_

#include <cstdint>
#include <span>

#include "tensor/philox.h"

namespace dtnn {

// Shuffles `values` (Fisher and Yates; Knuth, The Art of Computer Programming 2, 3.4.2, algorithm
// P), drawing number i of the stream for position i. At most 2^32 values. Allocates nothing.
void Shuffle(const Philox& random, std::span<int64_t> values);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_SHUFFLE_H_
