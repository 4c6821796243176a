// Conv2d on CPUs: checks operands, hands them to a kernel per direction, and keeps what the kernels
// derive from the filter.

#ifndef DTNN_KERNELS_CONV_CONV2D_CPU_H_
#define DTNN_KERNELS_CONV_CONV2D_CPU_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/kernel.h"

namespace dtnn::conv {

// A variant per direction, which supports the spec; null where the direction will not be called.
using VariantChoice = PerDirection<const Variant*>;

// Why a variant does not compute a direction of a valid spec, of any format and groups.
Support SupportOf(const Variant& variant, const Conv2dSpec& spec, Direction direction);

absl::StatusOr<std::unique_ptr<Conv2d>> CreateConv2dCpu(const Conv2dSpec& spec,
                                                        const VariantChoice& choice,
                                                        bool keeps_filter = false);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_CONV2D_CPU_H_
