// Scratch memory that the plan hands to a primitive for the length of one call; aligned to 64
// bytes, on a GPU to 256 (kernels/workspace/scratch.h), on the primitive's device, contents
// undefined before and after. One block serves all primitives of a plan, since they run one after
// another.

#ifndef DTNN_KERNELS_WORKSPACE_WORKSPACE_H_
#define DTNN_KERNELS_WORKSPACE_WORKSPACE_H_

#include <cstddef>
#include <span>

namespace dtnn {

using Workspace = std::span<std::byte>;

}  // namespace dtnn

#endif  // DTNN_KERNELS_WORKSPACE_WORKSPACE_H_
