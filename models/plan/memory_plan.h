// Places buffers with known lifetimes in one arena: two buffers share bytes only when their
// lifetimes do not overlap.
//
// Greedy by size (Pisarchyk & Lee, "Efficient memory management for deep neural net inference",
// 2020): the largest buffer first, each at the lowest offset where it meets no placed buffer that
// lives at the same time. Quadratic in the number of buffers, run once per plan.

#ifndef DTNN_MODELS_PLAN_MEMORY_PLAN_H_
#define DTNN_MODELS_PLAN_MEMORY_PLAN_H_

#include <cstddef>
#include <span>

namespace dtnn {

struct PlannedBuffer {
  size_t bytes = 0;
  int first = 0, last = 0;  // steps, inclusive: written first, read last
  size_t offset = 0;        // the result, a multiple of 64
};

// Sets every offset; returns the size of the arena.
size_t PlaceBuffers(std::span<PlannedBuffer> buffers);

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_MEMORY_PLAN_H_
