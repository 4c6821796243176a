// The GPU's implementation of GroupNorm: a warp for each set, and one for the gradients of each
// channel, whose sums have an order that does not depend on scheduling.

#ifndef DTNN_KERNELS_GROUP_NORM_GROUP_NORM_GPU_H_
#define DTNN_KERNELS_GROUP_NORM_GROUP_NORM_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/group_norm/group_norm.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<GroupNorm>> CreateGroupNormGpu(DeviceContext& context,
                                                              const GroupNormSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GROUP_NORM_GROUP_NORM_GPU_H_
