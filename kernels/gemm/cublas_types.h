// The types of a product in the words of cuBLAS and cuBLASLt. For .cu files.

#ifndef DTNN_KERNELS_GEMM_CUBLAS_TYPES_H_
#define DTNN_KERNELS_GEMM_CUBLAS_TYPES_H_

#include <cublas_v2.h>

#include "tensor/dtype.h"

namespace dtnn {

// GPUs must compute with the type.
inline cudaDataType_t CublasTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return CUDA_R_64F;
    case DType::kFloat16:
      return CUDA_R_16F;
    case DType::kBfloat16:
      return CUDA_R_16BF;
    case DType::kFloat32:
    case DType::kUint8:
    case DType::kInt32:
    case DType::kInt64:
      break;
  }
  return CUDA_R_32F;
}

// In what operands of this type are multiplied and summed: float32 in full, without TF32, unless
// that is allowed.
inline cublasComputeType_t CublasComputeTypeOf(DType dtype, bool tf32) {
  if (dtype == DType::kFloat64) return CUBLAS_COMPUTE_64F;
  return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

inline cublasOperation_t CublasOperationOf(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace dtnn

#endif  // DTNN_KERNELS_GEMM_CUBLAS_TYPES_H_
