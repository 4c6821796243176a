// Matrix product C = op(A) * op(B) (+ C), row-major, with an epilogue in the write-back.
//
//   op(A) is m x k, op(B) is k x n, C is m x n; op transposes or not. Operands are rank-2 tensors,
//   their rows may have a pitch. 2mnk flops.
//
// A Gemm is made once for a spec and run many times. m, n and k of the spec are the largest a call
// will bring (and what a variant is chosen for); a call's own sizes are those of its tensors, so
// the last, smaller batch needs nothing special. Results do not depend on the number of threads.

#ifndef DTNN_KERNELS_GEMM_GEMM_H_
#define DTNN_KERNELS_GEMM_GEMM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "kernels/operands/epilogue.h"
#include "kernels/workspace/workspace.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace dtnn {

struct GemmSpec {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;  // add to C instead of overwriting it; not together with an epilogue
  // The dtype of A and B, and of C unless it is wide. With 16 bits sums, bias and scale are
  // float32; CPUs have no float16.
  DType dtype = DType::kFloat32;
  bool wide_result = false;  // C is WideOf(dtype)
  bool tf32 = false;         // a GPU may round the operands of float32 products to TF32
  Epilogue epilogue = {};    // bias and scale have n elements; addend is m x n
  // Also writes the sums of B's columns, n of WideOf(dtype): what the gradient of weights is made
  // of gives that of a bias. Of a B that is not transposed, and of a C that is overwritten.
  bool column_sums = false;

  // One token: "m64n128k1568_nt_f32_bias_relu".
  std::string ToString() const;
  DType result_dtype() const { return wide_result ? WideOf(dtype) : dtype; }
};

class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                           const EpilogueOperands& operands, Workspace workspace) = 0;
  virtual size_t workspace_bytes() const { return 0; }
  virtual std::string_view variant() const = 0;
};

// The fastest variant for the spec on this device, in the order of variants.inc. InvalidArgument
// where there is none; FailedPrecondition where the library of one is not as the program needs it.
absl::StatusOr<std::unique_ptr<Gemm>> CreateGemm(DeviceContext& context, const GemmSpec& spec);
// One variant by name; NotFound with the names where there is none, InvalidArgument or
// Unimplemented where it refuses the spec.
absl::StatusOr<std::unique_ptr<Gemm>> CreateGemm(DeviceContext& context, const GemmSpec& spec,
                                                 std::string_view variant);
// All names, in the order of variants.inc, and "blis" in programs that link :blis.
std::vector<std::string_view> GemmVariants();

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_GEMM_H_
