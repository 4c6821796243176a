// The sums of B's columns (GemmSpec::column_sums) by a pass of their own, for variants whose
// product has no place for them.

#ifndef DTNN_KERNELS_GEMM_COLUMN_SUMS_H_
#define DTNN_KERNELS_GEMM_COLUMN_SUMS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/gemm/gemm.h"

namespace dtnn {

// `product`, which is of this spec but computes C alone, and after it the sums; `product` itself
// where the spec asks for none.
absl::StatusOr<std::unique_ptr<Gemm>> WithColumnSums(DeviceContext& context, const GemmSpec& spec,
                                                     std::unique_ptr<Gemm> product);

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_COLUMN_SUMS_H_
