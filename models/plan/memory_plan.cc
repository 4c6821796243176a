#include "models/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tensor/rounding.h"

namespace dtnn {

size_t PlaceBuffers(std::span<PlannedBuffer> buffers) {
  constexpr size_t kAlignment = 64;
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  size_t arena = 0;
  std::vector<const PlannedBuffer*> placed;  // by offset
  for (size_t index : order) {
    PlannedBuffer& buffer = buffers[index];
    size_t offset = 0;
    for (const PlannedBuffer* other : placed) {
      if (other->last < buffer.first || buffer.last < other->first) continue;
      if (offset + buffer.bytes <= other->offset) break;  // fits into the gap before `other`
      offset = std::max(offset, RoundUp(other->offset + other->bytes, kAlignment));
    }
    buffer.offset = offset;
    arena = std::max(arena, offset + buffer.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer,
                                   [](const PlannedBuffer* a, const PlannedBuffer* b) {
                                     return a->offset < b->offset;
                                   }),
                  &buffer);
  }
  return RoundUp(arena, kAlignment);
}

}  // namespace dtnn
