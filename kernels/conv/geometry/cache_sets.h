// Sets of an L1 cache of 32 or 48 KB, whose ways have 4 KB: lines 4 KB apart fall into the same
// one, and pixels that a tile reads at such distances push each other out.

#ifndef DTNN_KERNELS_CONV_GEOMETRY_CACHE_SETS_H_
#define DTNN_KERNELS_CONV_GEOMETRY_CACHE_SETS_H_

#include <cstdint>

namespace dtnn::conv {

// Whether half or all of the pixels of a tile, so many bytes apart, share a set.
inline bool ShareSets(int64_t bytes) { return bytes % 2048 == 0; }

// The distance grows by one line where they share a set.
template <typename T>
inline constexpr int64_t kLineElements = 64 / int64_t(sizeof(T));

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEOMETRY_CACHE_SETS_H_
