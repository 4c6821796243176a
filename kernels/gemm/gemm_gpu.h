// Gemm on a GPU, over the product of a BLAS. BLAS is column-major, in which a row-major matrix is
// its own transpose: the call computes C' = op(B)' op(A)', with the operands in exchanged places
// and nothing copied. An epilogue is a second pass over C.

#ifndef DTNN_KERNELS_GEMM_GEMM_GPU_H_
#define DTNN_KERNELS_GEMM_GEMM_GPU_H_

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gpu_runner.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T>
struct GemmEpilogueBody {
  int64_t columns;
  T* c;
  int64_t pitch;
  const T *scale, *bias, *addend;  // null where not asked for
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
    T value = c[row * pitch + column];
    if (scale != nullptr) value *= scale[column];
    if (bias != nullptr) value += bias[column];
    if (addend != nullptr) value += addend[row * addend_pitch + column];
    c[row * pitch + column] = relu && value < 0 ? T(0) : value;
  }
};

// `Blas` is a GpuRunner with BLAS's column-major product:
//   Multiply(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc)
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
    return DispatchFloating(spec_.dtype, [&]<typename T>(T) -> absl::Status {
      DTNN_RETURN_IF_ERROR(blas_.Multiply(spec_.transpose_b, spec_.transpose_a, n, m, k,
                                          b.data<T>(), LeadingDimension(b), a.data<T>(),
                                          LeadingDimension(a), T(spec_.accumulate ? 1 : 0),
                                          c.data<T>(), LeadingDimension(c)));
      const Epilogue& epilogue = spec_.epilogue;
      if (epilogue == Epilogue()) return absl::OkStatus();
      return blas_.ForEach(
          Blas::kName, m * n,
          GemmEpilogueBody<T>{n, c.data<T>(), c.RowPitch(),
                              epilogue.scale ? operands.scale.data<T>() : nullptr,
                              epilogue.bias ? operands.bias.data<T>() : nullptr,
                              epilogue.add ? operands.addend.data<T>() : nullptr,
                              epilogue.add ? operands.addend.RowPitch() : 0, epilogue.relu});
    });
  }
  std::string_view variant() const override { return Blas::kName; }

 private:
  static int64_t LeadingDimension(const Tensor& x) { return std::max<int64_t>(x.RowPitch(), 1); }

  Blas blas_;
  GemmSpec spec_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_GEMM_GPU_H_
