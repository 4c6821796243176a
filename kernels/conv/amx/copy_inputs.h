// The copy of a block's inputs, with zeros around them and between the channels of two pixels.

#ifndef DTNN_KERNELS_CONV_AMX_COPY_INPUTS_H_
#define DTNN_KERNELS_CONV_AMX_COPY_INPUTS_H_

#include "kernels/conv/amx/tile_plan.h"
#include "kernels/conv/images.h"
#include "tensor/float16.h"

namespace dtnn::conv::amx {

// Into TilePlan::CopyElements(block); nothing where that is 0.
void CopyInputs(const TilePlan& plan, const TilePlan::Block& block,
                const Images<const Bfloat16>& in, Bfloat16* copy);

}  // namespace dtnn::conv::amx

#endif  // DTNN_KERNELS_CONV_AMX_COPY_INPUTS_H_
