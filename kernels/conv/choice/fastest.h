// The variants of a convolution that are the fastest on this machine, found out by timing all that
// compute it (kernels/best_of). Nothing is guessed: the calls are real ones of the spec's sizes, on
// operands of their own, so that nobody's data change.

#ifndef DTNN_KERNELS_CONV_CHOICE_FASTEST_H_
#define DTNN_KERNELS_CONV_CHOICE_FASTEST_H_

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/best_of/best_of.h"
#include "kernels/conv/choice/fastest_key.h"
#include "kernels/conv/conv2d.h"
#include "tensor/buffer.h"

namespace dtnn {

using AllocateWorkspace = absl::FunctionRef<absl::StatusOr<std::shared_ptr<Buffer>>(size_t bytes)>;
absl::StatusOr<std::shared_ptr<Buffer>> AllocateHostWorkspace(size_t bytes);

// The fastest for each direction of the use, and "auto" for the others. What `best_of` knows is not
// timed again. A variant for which there is no memory is left out, and a direction for which there
// is none at all stays "auto"; `best_of` reports it. InvalidArgument for an invalid spec, and where
// a decision from elsewhere names a variant that does not compute the spec. On devices other than
// the CPU there is no choice.
absl::StatusOr<Conv2dVariants> FastestConv2d(BestOf& best_of, DeviceContext& context,
                                             const Conv2dSpec& spec, const Conv2dUse& use,
                                             AllocateWorkspace allocate = AllocateHostWorkspace);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONV_CHOICE_FASTEST_H_
