// The library of NVIDIA's GPUs.

#include <cublasLt.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/device/cuda_context.h"
#include "kernels/device/cuda_status.h"
#include "kernels/gemm/cublas_types.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/lt/lt_gemm.h"
#include "kernels/libraries/library_version.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

absl::Status CheckVersion() {
  return CheckLibraryVersion("cuBLASLt",
                             LibraryVersion::Of(int64_t(cublasLtGetVersion()), 10000, 100),
                             {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH});
}

// One of cuBLASLt's descriptors: made, its attributes set, destroyed. The first error stays.
template <typename Handle, cublasStatus_t (*kDestroy)(Handle), typename Attribute,
          cublasStatus_t (*kSet)(Handle, Attribute, const void*, size_t)>
class LtDescriptor {
 public:
  template <typename Create>
  explicit LtDescriptor(Create create) : status_(create(&handle_)) {}
  ~LtDescriptor() {
    if (handle_ != nullptr) kDestroy(handle_);
  }
  LtDescriptor(const LtDescriptor&) = delete;
  LtDescriptor& operator=(const LtDescriptor&) = delete;

  template <typename V>
  void Set(Attribute attribute, V value) {
    if (status_ == CUBLAS_STATUS_SUCCESS) status_ = kSet(handle_, attribute, &value, sizeof(value));
  }
  Handle get() const { return handle_; }
  cublasStatus_t status() const { return status_; }

 private:
  Handle handle_ = nullptr;
  cublasStatus_t status_;
};

using Operation = LtDescriptor<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy,
                               cublasLtMatmulDescAttributes_t, cublasLtMatmulDescSetAttribute>;
using Layout = LtDescriptor<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy,
                            cublasLtMatrixLayoutAttribute_t, cublasLtMatrixLayoutSetAttribute>;
using Preference =
    LtDescriptor<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy,
                 cublasLtMatmulPreferenceAttributes_t, cublasLtMatmulPreferenceSetAttribute>;

// A problem in cuBLASLt's descriptors.
struct Call {
  // For a problem whose bias or sums are at this address, or at one that is as well aligned.
  Call(const LtProblem& problem, const void* vector)
      : operation([&](auto* made) {
          return cublasLtMatmulDescCreate(made, CublasComputeTypeOf(problem.dtype, problem.tf32),
                                          CublasTypeOf(WideOf(problem.dtype)));
        }),
        a(LayoutOf(problem.dtype, problem.transpose_a, problem.m, problem.k, problem.lda)),
        b(LayoutOf(problem.dtype, problem.transpose_b, problem.k, problem.n, problem.ldb)),
        d(LayoutOf(problem.result_dtype, false, problem.m, problem.n, problem.ldd)) {
    operation.Set(CUBLASLT_MATMUL_DESC_TRANSA, CublasOperationOf(problem.transpose_a));
    operation.Set(CUBLASLT_MATMUL_DESC_TRANSB, CublasOperationOf(problem.transpose_b));
    operation.Set(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(problem.epilogue));
    operation.Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  }

  absl::Status status() const {
    for (const cublasStatus_t each : {operation.status(), a.status(), b.status(), d.status()}) {
      DTNN_RETURN_IF_ERROR(CublasStatus("describing a product", each));
    }
    return absl::OkStatus();
  }

  static cublasLtEpilogue_t EpilogueOf(LtEpilogue epilogue) {
    switch (epilogue) {
      case LtEpilogue::kRowSumsOfA:
        return CUBLASLT_EPILOGUE_BGRADA;
      case LtEpilogue::kBias:
        break;
    }
    return CUBLASLT_EPILOGUE_BIAS;
  }
  // The layout of a matrix whose transpose, where that is asked for, is rows x columns.
  static Layout LayoutOf(DType dtype, bool transpose, int64_t rows, int64_t columns, int64_t ld) {
    if (transpose) std::swap(rows, columns);
    return Layout([&](auto* made) {
      return cublasLtMatrixLayoutCreate(made, CublasTypeOf(dtype), uint64_t(rows),
                                        uint64_t(columns), ld);
    });
  }

  Operation operation;
  Layout a, b, d;
};

class CublasLt final : public LtLibrary {
 public:
  explicit CublasLt(CudaContext& context) : context_(&context) {}

  absl::StatusOr<LtPlan> Choose(const LtProblem& problem, size_t most_workspace) override {
    const auto alignment = uint32_t(problem.alignment);
    // Only its alignment counts here.
    const Call call(problem, reinterpret_cast<const void*>(uintptr_t(alignment)));
    DTNN_RETURN_IF_ERROR(call.status());
    Preference preference([](auto* made) { return cublasLtMatmulPreferenceCreate(made); });
    preference.Set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(most_workspace));
    // Parts of a sum are added in the type that they are computed in, not in that of the result.
    preference.Set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      preference.Set(attribute, alignment);
    }
    DTNN_RETURN_IF_ERROR(CublasStatus("describing a product", preference.status()));
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    auto found = std::make_shared<cublasLtMatmulHeuristicResult_t>();
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle(), call.operation.get(), call.a.get(), call.b.get(), call.d.get(), call.d.get(),
        preference.get(), 1, found.get(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) {
      return absl::UnimplementedError("cuBLASLt has no algorithm");
    }
    DTNN_RETURN_IF_ERROR(CublasStatus("choosing an algorithm of a product", status));
    const size_t bytes = found->workspaceSize;
    return LtPlan{.workspace_bytes = bytes, .algorithm = std::move(found)};
  }

  absl::Status Multiply(const LtProblem& problem, const LtPlan& plan,
                        const LtOperands& operands) override {
    const Call call(problem, operands.vector);
    DTNN_RETURN_IF_ERROR(call.status());
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    const double doubles[] = {1, 0};
    const float floats[] = {1, 0};
    const bool wide = problem.dtype == DType::kFloat64;
    const void* const alpha = wide ? static_cast<const void*>(&doubles[0]) : &floats[0];
    const void* const beta = wide ? static_cast<const void*>(&doubles[1]) : &floats[1];
    const auto& found = *static_cast<const cublasLtMatmulHeuristicResult_t*>(plan.algorithm.get());
    return CublasStatus(
        "product with an epilogue",
        cublasLtMatmul(handle(), call.operation.get(), alpha, operands.a, call.a.get(), operands.b,
                       call.b.get(), beta, operands.d, call.d.get(), operands.d, call.d.get(),
                       &found.algo, operands.workspace, plan.workspace_bytes,
                       static_cast<cudaStream_t>(context_->stream().native())));
  }

 private:
  // A handle of cuBLAS is one of cuBLASLt too.
  cublasLtHandle_t handle() const { return reinterpret_cast<cublasLtHandle_t>(context_->blas()); }

  CudaContext* context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gemm>> CreateCublasLtGemm(DeviceContext& context,
                                                         const GemmSpec& spec) {
  if (context.device().type != DeviceType::kCuda) {
    return absl::InvalidArgumentError("cublaslt runs on NVIDIA's GPUs, not on " +
                                      context.device().ToString());
  }
  DTNN_RETURN_IF_ERROR(CheckVersion());
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Gemm> other, CreateCublasGemm(context, spec));
  return MakeLtGemm(context, spec, "cublaslt",
                    std::make_unique<CublasLt>(static_cast<CudaContext&>(context)),
                    std::move(other));
}

}  // namespace dtnn
