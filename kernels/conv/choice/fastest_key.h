// What the fastest way to compute a direction of a convolution is remembered by (kernels/best_of).

#ifndef DTNN_KERNELS_CONV_CHOICE_FASTEST_KEY_H_
#define DTNN_KERNELS_CONV_CHOICE_FASTEST_KEY_H_

#include "kernels/best_of/decisions.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn {

// What does not matter to a direction is not in its key: gradients know no write-back.
// `keeps_filter`: as in Conv2dUse.
BestOfKey FastestConv2dKey(const Conv2dSpec& spec, conv::Direction direction, bool keeps_filter);

namespace conv {

// The part of a spec that matters to a direction.
Conv2dSpec SpecOf(Conv2dSpec spec, Direction direction);

}  // namespace conv
}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CHOICE_FASTEST_KEY_H_
