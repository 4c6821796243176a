// A library of products that do more than multiply, as cuBLASLt is one: D = op(A) op(B),
// column-major, and what an epilogue makes of it. What cuBLASLt asks of a call stands here; the
// library of simulated GPUs checks it.

#ifndef DTNN_KERNELS_GEMM_LT_LT_LIBRARY_H_
#define DTNN_KERNELS_GEMM_LT_LT_LIBRARY_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/dtype.h"

namespace dtnn {

enum class LtEpilogue {
  kBias,       // D = op(A) op(B) + bias
  kRowSumsOfA  // sums = the sums of A's rows over k, beside D = op(A) op(B): a bias's gradient
};

// What an algorithm depends on. op(A) is m x k, op(B) is k x n; the bias, or the sums, are m
// elements of the result's type; all sizes are at least 1.
struct LtProblem {
  LtEpilogue epilogue = LtEpilogue::kBias;
  DType dtype = DType::kFloat32, result_dtype = DType::kFloat32;
  bool tf32 = false;
  bool transpose_a = false, transpose_b = false;  // A not, where its rows are summed
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldd = 0;  // from column to column, elements
  int64_t alignment = 16;             // of all four operands, bytes; a power of two

  friend auto operator<=>(const LtProblem&, const LtProblem&) = default;
};

struct LtPlan {
  size_t workspace_bytes = 0;
  std::shared_ptr<const void> algorithm;  // the library's own
};

struct LtOperands {
  const void *a = nullptr, *b = nullptr;
  // Read as the bias, or written as the sums.
  void* vector = nullptr;
  void* d = nullptr;
  // At least the plan's bytes, at an address that is a multiple of kGpuScratchAlignment.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

class LtLibrary {
 public:
  virtual ~LtLibrary() = default;
  // The algorithm that is expected to be the fastest: sums in the type of WideOf(dtype), in one
  // order. Unimplemented where there is none.
  virtual absl::StatusOr<LtPlan> Choose(const LtProblem& problem, size_t most_workspace) = 0;
  // Queues it. The plan is one for this problem.
  virtual absl::Status Multiply(const LtProblem& problem, const LtPlan& plan,
                                const LtOperands& operands) = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_LT_LT_LIBRARY_H_
