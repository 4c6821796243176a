// Gemm over an LtLibrary, one kernel each: with a bias in the write-back, or with the sums of B's
// columns beside the product, which multiplies B anyway.
//
// Results of 16 bits that get a bias are rounded once, from a bias that is rounded to 16 bits
// first, by a small kernel before. Any other epilogue is refused. That of cuBLASLt for relu is
// max(x, 0), whose users report that it makes 0 of a NaN: a network that has diverged would not
// show it.

#ifndef DTNN_KERNELS_GEMM_LT_LT_GEMM_H_
#define DTNN_KERNELS_GEMM_LT_LT_GEMM_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/lt/lt_library.h"

namespace dtnn {

// `name`: of the variant. `other`: for calls that the library has no algorithm for, of the same
// spec. InvalidArgument, with the reason, for specs that are not for the library; Unimplemented
// where it has no algorithm for dense, aligned operands of the spec's sizes.
absl::StatusOr<std::unique_ptr<Gemm>> MakeLtGemm(DeviceContext& context, const GemmSpec& spec,
                                                 std::string_view name,
                                                 std::unique_ptr<LtLibrary> library,
                                                 std::unique_ptr<Gemm> other);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_LT_LT_GEMM_H_
