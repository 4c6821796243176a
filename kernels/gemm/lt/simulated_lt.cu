// The library of simulated GPUs: it refuses what cuBLASLt refuses, and computes an element by a
// thread.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/lt/lt_gemm.h"
#include "kernels/gemm/lt/simulated_lt.h"
#include "kernels/gemm/product_body.h"
#include "kernels/gpu/runner.h"
#include "kernels/workspace/scratch.h"
#include "tensor/status_macros.h"

namespace dtnn {

template <typename T, typename R>
struct LtProductBody {
  using W = Wide<T>;
  Product<T> product;
  const R* bias;
  R* sums;  // of one of both is null
  R* d;
  int64_t ldd;
  std::byte* workspace;
  int64_t workspace_bytes;

  void Declare(int64_t, gpu::Accesses& accesses) {
    product.Declare(accesses);
    accesses.Reads(bias, product.m);
    accesses.Writes(sums, product.m);
    accesses.Writes(d, product.n, product.m, ldd);
    accesses.Writes(workspace, workspace_bytes);
  }
  DTNN_HOST_DEVICE void operator()(int64_t element) const {
    const int64_t i = element % product.m, j = element / product.m;
    const W sum = product.AddTo(W(0), i, j);
    d[j * ldd + i] = R(bias == nullptr ? sum : sum + W(bias[i]));
    if (sums != nullptr && j == 0) sums[i] = R(SumOfRow(i));
    if (element < workspace_bytes) workspace[element] = std::byte{0xff};
  }
  // The sum of a row of A, which is not transposed.
  DTNN_HOST_DEVICE W SumOfRow(int64_t i) const {
    W sum = 0;
    for (int64_t p = 0; p < product.k; ++p) sum += W(product.a[p * product.lda + i]);
    return sum;
  }
};

namespace {

constexpr size_t kWorkspace = 4096;
constexpr int64_t kDividedTerms = 32;
// Operands are loaded by words, as those of 16 bits are for tensor cores.
constexpr int64_t kLeastAlignment = 4;

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("product with an epilogue: CUBLAS_STATUS_INVALID_VALUE: ", std::string(what)));
}

bool IsAligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// As cuBLASLt's layouts and descriptor do.
absl::Status CheckProblem(const LtProblem& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1) return Invalid("a size is not positive");
  if (p.lda < (p.transpose_a ? p.k : p.m) || p.ldb < (p.transpose_b ? p.n : p.k) || p.ldd < p.m) {
    return Invalid("columns overlap");
  }
  if (p.alignment < int64_t(SizeOf(p.dtype)) || (p.alignment & (p.alignment - 1)) != 0) {
    return Invalid("an alignment below the size of an element");
  }
  if (p.tf32 && p.dtype != DType::kFloat32) return Invalid("TF32 of another type than float32");
  if (p.result_dtype != p.dtype && !(IsHalf(p.dtype) && p.result_dtype == DType::kFloat32)) {
    return Invalid("types that do not go together");
  }
  if (p.epilogue == LtEpilogue::kRowSumsOfA && p.transpose_a) {
    return absl::UnimplementedError(
        "product with an epilogue: CUBLAS_STATUS_NOT_SUPPORTED: sums of an A that is transposed");
  }
  return absl::OkStatus();
}

}  // namespace

class SimulatedLt final : public LtLibrary {
 public:
  explicit SimulatedLt(const GpuRunner& runner) : runner_(runner) {}

  // As if the terms of long sums were divided among blocks.
  absl::StatusOr<LtPlan> Choose(const LtProblem& problem, size_t most_workspace) override {
    DTNN_RETURN_IF_ERROR(CheckProblem(problem));
    if (problem.alignment < kLeastAlignment) {
      return absl::UnimplementedError("the simulated library has no algorithm for odd addresses");
    }
    return LtPlan{
        .workspace_bytes = problem.k >= kDividedTerms ? std::min(kWorkspace, most_workspace) : 0,
        .algorithm = std::make_shared<const LtProblem>(problem)};
  }

  absl::Status Multiply(const LtProblem& problem, const LtPlan& plan,
                        const LtOperands& operands) override {
    DTNN_RETURN_IF_ERROR(CheckProblem(problem));
    const auto* const planned = static_cast<const LtProblem*>(plan.algorithm.get());
    // Not ==, which nvcc 13.0 takes for undefined.
    if (planned == nullptr || (*planned <=> problem) != 0) {
      return Invalid("an algorithm of another problem");
    }
    for (const void* pointer : {operands.a, operands.b, static_cast<const void*>(operands.vector),
                                static_cast<const void*>(operands.d)}) {
      if (pointer == nullptr || !IsAligned(pointer, size_t(problem.alignment))) {
        return Invalid("an operand is missing, or less aligned than the algorithm relies on");
      }
    }
    if (plan.workspace_bytes > operands.workspace_bytes ||
        (plan.workspace_bytes > 0 && !IsAligned(operands.workspace, kGpuScratchAlignment))) {
      return Invalid("the workspace is too small, or its address is not a multiple of 256");
    }
    return DispatchGpuFloating(problem.dtype, [&]<typename T>(T zero) {
      if (problem.result_dtype == problem.dtype) return Run(zero, zero, problem, plan, operands);
      return Run(zero, Wide<T>(), problem, plan, operands);
    });
  }

 private:
  template <typename T, typename R>
  absl::Status Run(T, R, const LtProblem& p, const LtPlan& plan, const LtOperands& operands) const {
    const int64_t touched = std::min<int64_t>(int64_t(plan.workspace_bytes), p.m * p.n);
    const bool sums = p.epilogue == LtEpilogue::kRowSumsOfA;
    auto* const vector = static_cast<R*>(operands.vector);
    return runner_.ForEach("product with an epilogue", p.m * p.n,
                           LtProductBody<T, R>{{p.tf32, p.transpose_a, p.transpose_b, p.m, p.n, p.k,
                                                static_cast<const T*>(operands.a), p.lda,
                                                static_cast<const T*>(operands.b), p.ldb},
                                               sums ? nullptr : vector,
                                               sums ? vector : nullptr,
                                               static_cast<R*>(operands.d),
                                               p.ldd,
                                               static_cast<std::byte*>(operands.workspace),
                                               touched});
  }

  GpuRunner runner_;
};

std::unique_ptr<LtLibrary> MakeSimulatedLt(DeviceContext& context) {
  return std::make_unique<SimulatedLt>(GpuRunner(context));
}

absl::StatusOr<std::unique_ptr<Gemm>> CreateSimulatedLtGemm(DeviceContext& context,
                                                            const GemmSpec& spec) {
  if (context.device().type != DeviceType::kSimulated) {
    return absl::InvalidArgumentError("it stands in for cublaslt on simulated GPUs only");
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Gemm> other, CreatePlainGemm(context, spec));
  return MakeLtGemm(context, spec, "simulated_lt", MakeSimulatedLt(context), std::move(other));
}

}  // namespace dtnn
