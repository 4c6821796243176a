// Gemm on a GPU, over the product of a BLAS. BLAS is column-major, in which a row-major matrix is
// its own transpose: the call computes C' = op(B)' op(A)', with the operands in exchanged places
// and nothing copied. An epilogue is a second pass over C, so results of 16 bits are rounded twice,
// and sums of columns are a pass over B; a bias alone, and the sums alone, are lt/lt_gemm.h's.

#ifndef DTNN_KERNELS_GEMM_GEMM_GPU_H_
#define DTNN_KERNELS_GEMM_GEMM_GPU_H_

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gpu/runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct GemmEpilogueBody {
  using W = Wide<T>;
  int64_t columns;
  T* c;
  int64_t pitch;
  const W *scale, *bias;  // null where not asked for
  const T* addend;
  int64_t addend_pitch;
  bool relu;

  void Declare(int64_t n, gpu::Accesses& accesses) {
    accesses.Writes(c, n / columns, columns, pitch);
    accesses.Reads(scale, columns);
    accesses.Reads(bias, columns);
    accesses.Reads(addend, n / columns, columns, addend_pitch);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / columns, column = i % columns;
    W value = W(c[row * pitch + column]);
    if (scale != nullptr) value *= scale[column];
    if (bias != nullptr) value += bias[column];
    if (addend != nullptr) value += W(addend[row * addend_pitch + column]);
    c[row * pitch + column] = T(relu && value < 0 ? W(0) : value);
  }
};

// `Blas` is a GpuRunner with BLAS's column-major product, whose operands and result are floating
// types or those of 16 bits:
//   Multiply(tf32, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc)
// and kName, the name of the variant.
template <class Blas>
class GemmGpu : public Gemm {
 public:
  GemmGpu(const Blas& blas, const GemmSpec& spec) : blas_(blas), spec_(spec) {}

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, blas_.device(), a, b, c, operands, &sizes));
    const auto [m, n, k] = sizes;
    if (m == 0 || n == 0) return absl::OkStatus();
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T zero) -> absl::Status {
      if (spec_.wide_result) return RunTyped(zero, Wide<T>(), a, b, c, operands, sizes);
      return RunTyped(zero, zero, a, b, c, operands, sizes);
    });
  }
  std::string_view variant() const override { return Blas::kName; }

 private:
  template <typename T, typename R>
  absl::Status RunTyped(T, R, const Tensor& a, const Tensor& b, const Tensor& c,
                        const EpilogueOperands& operands, const GemmSizes& sizes) {
    using W = Wide<R>;
    const auto [m, n, k] = sizes;
    DTNN_RETURN_IF_ERROR(blas_.Multiply(spec_.tf32, spec_.transpose_b, spec_.transpose_a, n, m, k,
                                        b.data<T>(), LeadingDimension(b), a.data<T>(),
                                        LeadingDimension(a), W(spec_.accumulate ? 1 : 0),
                                        c.data<R>(), LeadingDimension(c)));
    const Epilogue& epilogue = spec_.epilogue;
    if (epilogue == Epilogue()) return absl::OkStatus();
    return blas_.ForEach(
        Blas::kName, m * n,
        GemmEpilogueBody<R>{n, c.data<R>(), c.RowPitch(),
                            epilogue.scale ? operands.scale.data<W>() : nullptr,
                            epilogue.bias ? operands.bias.data<W>() : nullptr,
                            epilogue.add ? operands.addend.data<R>() : nullptr,
                            epilogue.add ? operands.addend.RowPitch() : 0, epilogue.relu});
  }
  static int64_t LeadingDimension(const Tensor& x) { return std::max<int64_t>(x.RowPitch(), 1); }

  Blas blas_;
  GemmSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_GEMM_GPU_H_
