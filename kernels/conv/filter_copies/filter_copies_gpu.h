// The GPU's implementation of CreateFilterCopies: a block for each piece of the arena, which a
// table in the device's memory lists.

#ifndef DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_GPU_H_
#define DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_GPU_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "kernels/conv/filter_copies/filter_copies.h"

namespace dtnn {

// From float32 to a type of 16 bits. Filters are in the order of their offsets.
absl::StatusOr<std::unique_ptr<Cast>> CreateFilterCopiesGpu(DeviceContext& context, DType to,
                                                            int64_t size,
                                                            std::span<const FilterPlace> filters);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_FILTER_COPIES_FILTER_COPIES_GPU_H_
