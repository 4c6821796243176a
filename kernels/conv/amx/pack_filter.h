// The filter as tiles read it: panels of 16 output channels, in rows of pairs of elements of the
// depth.

#ifndef DTNN_KERNELS_CONV_AMX_PACK_FILTER_H_
#define DTNN_KERNELS_CONV_AMX_PACK_FILTER_H_

#include "kernels/conv/amx/tile_plan.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv::amx {

// Into TilePlan::derived_elements().
// In vectors: with instructions of CPUs that have tiles.
void PackFilter(const TilePlan& plan, const Filter<const Bfloat16>& filter, bool in_vectors,
                Bfloat16* derived);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_PACK_FILTER_H_
