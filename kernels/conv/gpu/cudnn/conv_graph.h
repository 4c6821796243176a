// A direction of a convolution as cuDNN's operation graph: the convolution and its epilogue. For
// .cu files.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_CONV_GRAPH_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_CONV_GRAPH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/gpu/cudnn/call_shape.h"
#include "kernels/conv/gpu/cudnn/descriptor.h"

namespace dtnn::cudnn {

// The names of a graph's operands: x or dx, the filter or its gradient (in the order of
// filter_order.h), y or dy.
enum Operand : int64_t { kX = 1, kFilter, kY, kScale, kBias, kAddend, kFirstVirtual };

// Whether tensor cores compute what the spec asks for.
bool MayUseTensorCores(const Conv2dSpec& spec);
// Whether Winograd's or FFT's transforms of the operands may: not exact float32 and float64, whose
// results are those of sums of products.
bool MayUseTransforms(const Conv2dSpec& spec);

// How the graphs below are made: raised with every change of that, so that no plan that a file
// keeps for an older graph is taken (kernels/libraries/kept_plans.h).
inline constexpr int kGraphRevision = 2;

// Finalized; for a handle's device, or with null for one that is only described.
absl::StatusOr<Descriptor> MakeConvGraph(const Conv2dSpec& spec, const CallShape& call,
                                         cudnnHandle_t handle);

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_CONV_GRAPH_H_
