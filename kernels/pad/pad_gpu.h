// The GPU's implementation of Pad: a thread per element of the result.

#ifndef DTNN_KERNELS_PAD_PAD_GPU_H_
#define DTNN_KERNELS_PAD_PAD_GPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/pad/pad.h"

namespace dtnn {

// CreatePad has checked the spec.
absl::StatusOr<std::unique_ptr<Pad>> CreatePadGpu(DeviceContext& context, const PadSpec& spec);

}  // namespace dtnn

#endif  // DTNN_KERNELS_PAD_PAD_GPU_H_
